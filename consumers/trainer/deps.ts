// The dependencies of a trainer, its parts while it runs, and the interface to an external trainer: types that refer to each other.
import type { Codec } from '../../schemas/codec.ts';
import type { ReachPoint } from '../../streams/core/crash-points.ts';
import type { Architecture, Checkpoint, Learner } from '../../streams/core/learning.ts';
import type {
  Clock,
  EventDecoder,
  EventReader,
  GroupOffsets,
  LogReader,
  Logger,
  RunIndex,
  RunStart,
  TransactionalWriter,
} from '../../streams/core/ports.ts';
import type { Metrics, ReportStatus } from '../../streams/core/telemetry.ts';
import type { SnapshotStore } from './snapshot.ts';
import type { WeightsStore } from './checkpoints.ts';
import type { TrainerOwner } from './ownership.ts';
import type { TrainingQuestions } from '../../streams/trainer/training-questions.ts';
import type { WorkerSettings } from './settings.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';
import type { WeightsOfCommit } from '../../streams/leases/coordinator.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import type { PreparedBatch, TrainedBatch } from './commit-parts.ts';
import type { Committer } from './committer.ts';
import type { CutWatch } from './cut-log.ts';
import type { Listening } from './listening.ts';
import type { Liveness } from '../../streams/trainer/liveness.ts';
import type { RewardWait } from './reward-wait.ts';
import type { RolloutFeed } from './rollout-feed.ts';
import type { Wake } from '../../streams/core/waiting.ts';
import type { PlatformError } from '../../streams/core/errors.ts';
import type { BatchRows } from '../../streams/leases/batch-rows.ts';
import type { Measuring } from './external/measuring.ts';

/** Notes that a run has ended, so that a later start can report it before starting anything. The ledger decides, not the note. */
export interface EndNotes {
  write(steps: number): Promise<void>;
  remove(): Promise<void>;
}

/** Dependencies of a trainer. */
export interface TrainerDeps {
  readonly runId: string;
  readonly producer: string;
  readonly settings: RunSettings;
  /** Settings of the workers that affect learning, by name. A run cannot be resumed with others. Not compared unless given. */
  readonly workerSettings?: WorkerSettings;
  readonly architecture: Architecture;
  readonly log: LogReader;
  readonly events: EventReader;
  /** Reads `rollouts`; may decode through rolloutView, which is much faster than whole events. */
  readonly rollouts: EventDecoder;
  readonly codec: Codec;
  /** Becomes the only writer of the run: fences the one before. */
  readonly openWriter: () => Promise<TransactionalWriter>;
  /** Shared by all calls of runTrainer in this process; unless given, the call is a separate trainer. */
  readonly owner?: TrainerOwner;
  readonly offsets: GroupOffsets;
  /** Where runs begin; all of `training` is searched unless given. */
  readonly index?: RunIndex;
  /** Consumer groups: this trainer's committed offsets, and the workers of the run. */
  readonly groups: { readonly trainer: string; readonly workers: string };
  /** Undefined when this process does not train: an external trainer does, or the run only collects batches. */
  readonly learner: Learner | undefined;
  /** Set for a run with an external trainer, which has no learner. */
  readonly external?: ExternalDeps;
  readonly weights: WeightsStore;
  /** This process has found that the log was cut. */
  readonly afterCut?: boolean;
  /** No snapshots are kept unless given. */
  readonly snapshots?: SnapshotStore;
  /** No ends are noted unless given. */
  readonly ends?: EndNotes;
  readonly questions: (dataset: string, seed: number) => Promise<TrainingQuestions>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly report: ReportStatus;
  /** Named crash points; nothing unless given. */
  readonly reach?: ReachPoint;
}

/** True for a run that only collects batches and makes no steps. */
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
  /** Reads the ends of topics, and detects a cut log. */
  readonly watch: CutWatch;
  readonly wake: Wake;
  /** Nothing of the run was written before these offsets. */
  readonly start: RunStart;
  /** What the log no longer held when this trainer started; empty when all was there. */
  readonly notice: string;
}

/** After a restart, and after an interruption of listening, every lease gets its full duration again: its trainer could not extend it. */
export interface LeaseTimes {
  /** Monotonic ms of this process. */
  readonly beganMs: number;
  readonly waitMs: number;
  /** In listening time. */
  readonly deadlineMs: number;
  /** Interruptions of listening when the deadline was set. */
  readonly gaps: number;
}

export interface BatchInTraining {
  readonly batch: PreparedBatch;
  result: TrainedBatch | undefined;
}

/** Everything that the loop keeps between two iterations in addition to the folded state. */
export interface Loop {
  training: BatchInTraining | undefined;
  waitedSinceMs: number;
  lastPlanMs: number;
  /** Listening time of the last check for expired attempts. */
  lookedUpTo: number;
  /** A check for expired attempts is due. */
  lookDue: boolean;
  /** Partitions of `tasks` for which a start offset of the workers was committed; undefined before the first check. */
  placed: Set<number> | undefined;
  /** The newest snapshot: records that had been folded, when it was taken, and how long that took. */
  snapshot: { readonly folded: number; readonly atMs: number; readonly tookMs: number } | undefined;
  isKeeping: boolean;
  /** The warning that most trajectories are discarded has been given and still holds. */
  toldWaste: boolean;
  /** Warning shown to users; empty if none. */
  warning: string;
  /** No more groups are requested. */
  ending: boolean;
  /** The external trainer has sent the final lineage, so it has received the response to its last commit. */
  heardEnd: boolean;
  /** Of batches that an external trainer has leased, by batch id. */
  readonly leaseTimes: Map<string, LeaseTimes>;
  /** Undefined without an external trainer. */
  readonly measuring: Measuring | undefined;
  /** Groups of the batch whose rows were read ahead. */
  aheadOf: string | undefined;
}

/** Result of a call: an answer, a refusal, or not yet. Anything that is thrown ends the coordinator. */
export type CallOutcome<T> =
  { readonly kind: 'answer'; readonly value: T } | { readonly kind: 'refused'; readonly error: PlatformError } | { readonly kind: 'later' };

export type Job<T> = (life: ExternalLife, loop: Loop) => Promise<CallOutcome<T>>;

/** How long a call may wait, ms, and what it returns after that. Waiting stops when `signal` aborts. */
export interface CallWait<T> {
  readonly waitMs: number;
  readonly otherwise: T;
  readonly signal: AbortSignal;
}

export interface Desk {
  /** Rejects with COORDINATOR_UNAVAILABLE while no loop serves. */
  ask<T>(job: Job<T>, wait?: CallWait<T>): Promise<T>;
  /** A loop begins to serve; `wake` is called for each call. */
  open(wake: () => void): void;
  /** Serves the waiting calls. Called by the loop, between two commits. */
  serve(life: ExternalLife, loop: Loop): Promise<void>;
  /** The loop has ended: the waiting calls are refused. */
  close(): void;
}

export interface ExternalDeps {
  readonly desk: Desk;
  readonly rows: BatchRows;
  /** How long a lease lasts unless it is extended, ms. */
  readonly leaseMs: number;
  /** Batches that may be leased ahead of the one that is trained on. */
  readonly prefetch: number;
  /** How long answers are repeated after the end of the run, ms. */
  readonly lingerMs: number;
  /** Makes the first version, if turnstream does; otherwise the external trainer has it. */
  readonly initial?: (seed: number) => Promise<Checkpoint>;
  /** Returns the configured weights of the first version. Called once, when the run begins. */
  readonly named?: () => Promise<WeightsOfCommit>;
}

export type ExternalLife = TrainerLife & { readonly external: ExternalDeps };

export const isExternal = (life: TrainerLife): life is ExternalLife => life.external !== undefined;
