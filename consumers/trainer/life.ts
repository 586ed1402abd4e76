// A trainer that is up, and what its loop remembers.
import type { TransactionalWriter } from '../../streams/core/ports.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import type { PreparedBatch, TrainedBatch } from './commit-parts.ts';
import type { Committer } from './committer.ts';
import type { CutWatch } from './cut-log.ts';
import type { TrainerDeps } from './deps.ts';
import type { Listening } from './listening.ts';
import type { Liveness } from './liveness.ts';
import type { RolloutFeed } from './rollout-feed.ts';
import type { RunSettings } from './settings.ts';
import type { Wake } from '../../streams/core/waiting.ts';

/** A trainer that has recovered its state and reads rollouts. */
export interface Life extends TrainerDeps {
  readonly state: RunState;
  readonly used: RunSettings;
  readonly committer: Committer;
  readonly writer: TransactionalWriter;
  readonly feed: RolloutFeed;
  readonly liveness: Liveness;
  readonly listening: Listening;
  /** Where topics end. */
  readonly watch: CutWatch;
  readonly wake: Wake;
  /** What the log no longer held when this trainer started; empty when all was there. */
  readonly notice: string;
}

export interface Training {
  readonly batch: PreparedBatch;
  result: TrainedBatch | undefined;
}

/** All that the loop remembers between two turns beside the folded state. */
export interface Loop {
  training: Training | undefined;
  waitedSinceMs: number;
  lastPlanMs: number;
  /** Moment of listening of the last look for attempts to give up. */
  lookedUpTo: number;
  /** It is time to look for attempts to give up. */
  lookDue: boolean;
  /** Partitions of tasks in which the workers have been given their start; undefined before the first look. */
  placed: Set<number> | undefined;
  /** Records that had been folded at the newest snapshot. */
  snapshotAt: number;
  isKeeping: boolean;
  /** It was told that most is discarded, and it still is. */
  toldWaste: boolean;
  /** What whoever looks at the run should know; empty when all is well. */
  warning: string;
  /** Nothing more is asked for. */
  ending: boolean;
}
