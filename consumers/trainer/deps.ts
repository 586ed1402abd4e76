import type { Codec } from '../../schemas/codec.ts';
import type { ReachPoint } from '../../streams/core/crash-points.ts';
import type { Architecture, Learner } from '../../streams/core/learning.ts';
import type { Clock, EventReader, GroupOffsets, Logger, LogReader, RunIndex, TransactionalWriter } from '../../streams/core/ports.ts';
import type { Metrics, ReportStatus } from '../../streams/core/telemetry.ts';
import type { SnapshotStore } from './snapshot.ts';
import type { WeightsStore } from './checkpoints.ts';
import type { Owner } from './ownership.ts';
import type { TrainingQuestions } from './questions.ts';
import type { RunSettings, WorkerSettings } from './settings.ts';

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
  readonly owner?: Owner;
  readonly offsets: GroupOffsets;
  /** Consumer groups: this trainer's committed offsets, and the workers of the run. */
  /** Where runs begin; the whole of `training` is looked through unless given. */
  readonly index?: RunIndex;
  readonly groups: { readonly trainer: string; readonly workers: string };
  /** Undefined when the trainer does not make the policy of the run: then it collects, and makes no steps. */
  readonly learner: Learner | undefined;
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

export type TrainerEnd = { readonly kind: 'finished'; readonly version: number } | { readonly kind: 'stopped'; readonly version: number };
