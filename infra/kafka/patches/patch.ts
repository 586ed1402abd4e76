/** A module of kafkajs and its replacement. */
export interface Patch {
  /** Path below kafkajs/src. */
  readonly module: string;
  /** Makes the replacement from what the module exports, which is a function or a class. */
  readonly replace: (original: never) => object;
}
