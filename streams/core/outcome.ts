/** The result of processing one record. The runner, not the step, talks to Kafka. */
export type Outcome<T> =
  { readonly kind: 'next'; readonly value: T } | { readonly kind: 'dead-letter'; readonly reason: string; readonly cause: unknown };

export const next = <T>(value: T): Outcome<T> => ({ kind: 'next', value });
export const deadLetter = (reason: string, cause: unknown): Outcome<never> => ({ kind: 'dead-letter', reason, cause });

/** Turns an unhandled case of a union into a type error. */
export function assertNever(value: never): never {
  throw new RangeError(`unexpected value ${JSON.stringify(value)}`);
}
