// What a trainer needs of the world, what it is once it is up, and how an external trainer reaches it: types that name each other.
import type { Codec } from '../../schemas/codec.ts';
import type { ReachPoint } from '../../streams/core/crash-points.ts';
import type { Architecture, Checkpoint, Learner } from '../../streams/core/learning.ts';
import type { Clock, EventReader, GroupOffsets, LogReader, Logger, RunIndex, TransactionalWriter } from '../../streams/core/ports.ts';
import type { Metrics, ReportStatus } from '../../streams/core/telemetry.ts';
import type { SnapshotStore } from './snapshot.ts';
import type { WeightsStore } from './checkpoints.ts';
import type { TrainerOwner } from './ownership.ts';
import type { TrainingQuestions } from './questions.ts';
import type { RunSettings, WorkerSettings } from './settings.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import type { PreparedBatch, TrainedBatch } from './commit-parts.ts';
import type { Committer } from './committer.ts';
import type { CutWatch } from './cut-log.ts';
import type { Listening } from './listening.ts';
import type { Liveness } from './liveness.ts';
import type { RewardWait } from './reward-wait.ts';
import type { RolloutFeed } from './rollout-feed.ts';
import type { Wake } from '../../streams/core/waiting.ts';
import type { PlatformError } from '../../streams/core/errors.ts';
import type { BatchRows } from '../../streams/leases/batch-rows.ts';

/** Where it is noted that a run is over, for a start that wants to say so before it starts anything. The ledger decides, not the note. */
export interface EndNotes {
  write(steps: number): Promise<void>;
  remove(): Promise<void>;
}

/** What a trainer needs of the world. */
export interface TrainerDeps {
  readonly runId: string;
  readonly producer: string;
  readonly settings: RunSettings;
  /** Settings of the workers that change what is learned, by name; a run goes on with no others. Not compared unless given. */
  readonly workerSettings?: WorkerSettings;
  readonly architecture: Architecture;
  readonly log: LogReader;
  readonly events: EventReader;
  /** Reads `rollouts`; may decode through rolloutView, which is much faster than whole events. */
  readonly rollouts: EventReader;
  readonly codec: Codec;
  /** Becomes the only writer of the run: fences the one before. */
  readonly openWriter: () => Promise<TransactionalWriter>;
  /** Of this process, over all its calls of runTrainer; unless given, the call is a trainer of its own. */
  readonly owner?: TrainerOwner;
  readonly offsets: GroupOffsets;
  /** Consumer groups: this trainer's committed offsets, and the workers of the run. */
  /** Where runs begin; the whole of `training` is looked through unless given. */
  readonly index?: RunIndex;
  readonly groups: { readonly trainer: string; readonly workers: string };
  /** Undefined when the trainer does not make the policy of the run: then it collects, and makes no steps. */
  readonly learner: Learner | undefined;
  /** The run is trained by somebody else's trainer; then there is no learner. */
  readonly external?: ExternalDeps;
  readonly weights: WeightsStore;
  /** This process has found that the log was cut. */
  readonly afterCut?: boolean;
  /** Nothing is kept unless given. */
  readonly snapshots?: SnapshotStore;
  /** Nothing is noted unless given. */
  readonly ends?: EndNotes;
  readonly questions: (dataset: string, seed: number) => Promise<TrainingQuestions>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly report: ReportStatus;
  /** Named crash points; nothing unless given. */
  readonly reach?: ReachPoint;
}

/** Nobody trains: batches are kept, and no steps are made. */
export const collects = ({ learner, external }: Pick<TrainerDeps, 'external'> & { readonly learner?: unknown }): boolean =>
  learner === undefined && external === undefined;

export type TrainerEnd = { readonly kind: 'finished'; readonly version: number } | { readonly kind: 'stopped'; readonly version: number };

/** A trainer that has recovered its state and reads rollouts. */
export interface TrainerLife extends TrainerDeps {
  readonly state: RunState;
  readonly used: RunSettings;
  readonly committer: Committer;
  readonly writer: TransactionalWriter;
  readonly feed: RolloutFeed;
  readonly liveness: Liveness;
  readonly rewardWait: RewardWait;
  readonly listening: Listening;
  /** Where topics end. */
  readonly watch: CutWatch;
  readonly wake: Wake;
  /** Nothing was published of the run before this offset of policies. */
  readonly policiesFrom: number;
  /** What the log no longer held when this trainer started; empty when all was there. */
  readonly notice: string;
}

/** Monotonic ms of this process: one that was away gives every lease its whole time again. */
export interface LeaseTimes {
  readonly beganMs: number;
  readonly waitMs: number;
  deadlineMs: number;
}

export interface BatchInTraining {
  readonly batch: PreparedBatch;
  result: TrainedBatch | undefined;
}

/** All that the loop remembers between two turns beside the folded state. */
export interface Loop {
  training: BatchInTraining | undefined;
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
  /** Of batches that are out at an external trainer, by their id. */
  readonly leaseTimes: Map<string, LeaseTimes>;
}

/** What became of a call: its answer, or a refusal, or not yet. Anything that is thrown ends the coordinator. */
export type Outcome<T> =
  { readonly kind: 'answer'; readonly value: T } | { readonly kind: 'refused'; readonly error: PlatformError } | { readonly kind: 'later' };

export type Job<T> = (life: ExternalLife, loop: Loop) => Promise<Outcome<T>>;

/** How long a call may wait for its time, ms, and the answer after that; nobody waits any more once `signal` aborts. */
export interface Patience<T> {
  readonly waitMs: number;
  readonly otherwise: T;
  readonly signal: AbortSignal;
}

export interface Desk {
  /** Rejects with COORDINATOR_UNAVAILABLE while no loop serves. */
  ask<T>(job: Job<T>, patience?: Patience<T>): Promise<T>;
  /** A loop begins to serve; `wake` is called for each call. */
  open(wake: () => void): void;
  /** Serves what waits. Called by the loop, between two commits. */
  serve(life: ExternalLife, loop: Loop): Promise<void>;
  /** The loop has ended: what waits is refused. */
  close(): void;
}

export interface ExternalDeps {
  readonly desk: Desk;
  readonly rows: BatchRows;
  /** How long a lease lasts unless it is extended, ms. */
  readonly leaseMs: number;
  /** Batches that may be leased ahead of the one that is trained on. */
  readonly prefetch: number;
  /** The first version, where turnstream makes it; otherwise the trainer has it. */
  readonly initial?: (seed: number) => Promise<Checkpoint>;
}

export type ExternalLife = TrainerLife & { readonly external: ExternalDeps };

export const isExternal = (life: TrainerLife): life is ExternalLife => life.external !== undefined;
