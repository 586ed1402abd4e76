// What a commit of the trainer is made of.
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
  /** Group that the input offsets are committed to. */
  readonly offsetsGroup: string;
  /** Where the run begins in what it writes: committed too, so that the next start knows. */
  readonly start: RunStart;
  readonly metrics: Metrics;
  /** Beside the offset of the policies: who commits. */
  readonly claim: string;
  /** For durations: monotonic. */
  readonly nowMs: () => number;
  /** What the clock of a worker said at such a moment. */
  readonly workerNow: WorkerClocks['read'];
  readonly reach?: ReachPoint;
}

/** A batch on its way through the learner. */
export interface PreparedBatch {
  readonly groups: readonly Group[];
  readonly trajectories: readonly AccountedTrajectory[];
  readonly ages: TokenAges;
  readonly sha256: string;
  /** Of the groups with attached rewards: up to where these came in time. */
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
  /** Undefined when the weights are published later. */
  readonly policy: UnpublishedPolicy | undefined;
  /** What an external trainer says of it. */
  readonly told: ToldOfStep;
}

export type UnpublishedPolicy = Omit<PolicyPublished, 'event_id' | 'run_id' | 'occurred_at' | 'producer'>;
export type ToldOfStep = Pick<StepCompleted, 'batch_id' | 'trained_rows' | 'skipped' | 'lineage' | 'report' | 'report_sha256'>;

/** Of a step of the built-in learner. */
export const TOLD_NOTHING: ToldOfStep = { batch_id: '', trained_rows: 0, skipped: [], lineage: '', report: '', report_sha256: '' };
