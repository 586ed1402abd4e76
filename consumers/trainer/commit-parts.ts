// The parts of a commit of the trainer.
import type { ReachPoint } from '../../streams/core/crash-points.ts';
import type { RunStart, TransactionalWriter } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import type { AccountedTrajectory } from '../../streams/batch/batch.ts';
import type { UpdateMetrics } from '../../streams/core/learning.ts';
import type { Group } from '../../streams/group/group.ts';
import type { TokenAges } from '../../streams/staleness/staleness.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import type { PolicyPublished, RewardsCounted, StepCompleted } from '../../schemas/generated/events.ts';
import type { Author } from './ledger-writer.ts';
import type { TrainingQuestions } from '../../streams/trainer/training-questions.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';
import type { WorkerClocks } from './worker-clocks.ts';

export interface CommitDeps {
  readonly author: Author;
  readonly state: RunState;
  readonly settings: RunSettings;
  readonly questions: TrainingQuestions;
  readonly writer: TransactionalWriter;
  /** Consumer group that the input offsets are committed to. */
  readonly offsetsGroup: string;
  /** Where the run begins in the topics that it writes. Committed as well, so that the next start can find it. */
  readonly start: RunStart;
  readonly metrics: Metrics;
  /** Id of this trainer process, committed as metadata of the offset of the policies. */
  readonly claim: string;
  /** Monotonic clock, for durations. */
  readonly nowMs: () => number;
  /** The wall clock of a worker at a monotonic time. */
  readonly workerNow: WorkerClocks['read'];
  readonly reach?: ReachPoint;
}

/** A batch with its staleness, advantages, and hash: to be trained on, collected, or compared in a replay. */
export interface PreparedBatch {
  readonly groups: readonly Group[];
  readonly trajectories: readonly AccountedTrajectory[];
  readonly ages: TokenAges;
  readonly sha256: string;
  /** For groups with attached rewards: the offsets up to which rewards arrived in time. */
  readonly counted: RewardsCounted['groups'];
  /** When training began, monotonic ms. */
  readonly beganMs: number;
  readonly waitMs: number;
}

export interface TrainedBatch {
  readonly batch: PreparedBatch;
  readonly update: { readonly metrics: UpdateMetrics; readonly trainMs: number };
  readonly weightsSha256: string;
  readonly optimizerSha256: string;
  /** Undefined if the weights are published later. */
  readonly policy: UnpublishedPolicy | undefined;
  /** The report of an external trainer. */
  readonly told: ToldOfStep;
}

export type UnpublishedPolicy = Omit<PolicyPublished, 'event_id' | 'run_id' | 'occurred_at' | 'producer'>;
export type ToldOfStep = Pick<StepCompleted, 'batch_id' | 'trained_rows' | 'skipped' | 'lineage' | 'report' | 'report_sha256'>;

/** The report fields of a step of the built-in learner. */
export const TOLD_NOTHING: ToldOfStep = { batch_id: '', trained_rows: 0, skipped: [], lineage: '', report: '', report_sha256: '' };
