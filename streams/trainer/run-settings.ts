// The settings of a run that the trainer decides with.

export interface RunSettings {
  readonly seed: number;
  readonly algorithm: string;
  readonly dataset: string;
  readonly groupSize: number;
  readonly batchGroups: number;
  readonly maxStaleness: number;
  readonly maxConcurrent: number;
  readonly maxAttempts: number;
  readonly stalePolicy: string;
  /** Share of a trajectory's tokens that may come from an unknown version, 0 to 1; default 1. */
  readonly maxUnknown?: number;
  /** The run ends after this many steps; 0 = never by itself. */
  readonly steps: number;
  readonly reward: string;
  readonly maxTurns: number;
  readonly maxTokens: number;
  readonly maxWallMs: number;
  /** Groups requested for each one that a batch still needs; default 1. Above 1 only if maxStaleness is 0. */
  readonly oversample?: number;
  /** Comma-separated names of the attached rewards that are waited for and trained on; left out = none. */
  readonly rewardNames?: string;
  /** How long a finished attempt waits for these rewards, ms; by default without limit. */
  readonly rewardTimeoutMs?: number;
  /** How long a worker may be silent, ms. */
  readonly silenceMs: number;
  /** Share of the groups that may be discarded before the run ends by itself, 0 to 1; 1 = it never does. */
  readonly maxDiscarded: number;
}
