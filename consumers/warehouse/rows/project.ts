// Every event becomes rows: pure, the same rows for the same record whenever and wherever it is asked. A type of event
// that is missing from the table does not compile, nor does a row for a table of another topic.
import type { DecodedOf } from '../../../schemas/codec.ts';
import type { EventByType, EventTopic, EventType, EventTypeOf } from '../../../schemas/generated/events.ts';
import type { LogRecord, Row } from '../../../streams/core/ports.ts';
import { originOf, type Emit, type Origin } from './cells.ts';
import { deadLetterRetryRow, deadLetterRow } from './dead-letters.rows.ts';
import { evaluationCompletedRow, evaluationStartedRow, scoreRow } from './evaluations.rows.ts';
import { policyRow } from './policies.rows.ts';
import { acceptedRow, rejectedRow } from './questions.rows.ts';
import { heartbeatRow, trajectoryRow, trajectoryStartRow, turnRow } from './rollouts.rows.ts';
import type { TableName, TableOf } from './tables.ts';
import { taskRow } from './tasks.rows.ts';
import {
  admissionRow,
  batchRow,
  collectedRows,
  discardedRow,
  expiredRow,
  runContinuedRow,
  runFinishedRow,
  runStartedRow,
  stepRow,
  stepTrajectoryRows,
} from './training.rows.ts';

type TopicOf<T extends EventType> = { [P in EventTopic]: T extends EventTypeOf<P> ? P : never }[EventTopic];

/** Gives every row of one event to `emit`; at least one. */
type Projection<E, T extends TableName> = (event: E, origin: Origin, emit: (table: T, row: Row) => void) => void;

type Projections = { readonly [T in EventType]: Projection<EventByType[T], TableOf<TopicOf<T>>> };

/** One row of one table. */
const row =
  <E, T extends TableName>(table: T, rowOf: (event: E, origin: Origin) => Row): Projection<E, T> =>
  (event, origin, emit) => {
    emit(table, rowOf(event, origin));
  };

/** One row of one table, and any number of another. */
const rowAndParts =
  <E, T extends TableName>(whole: Projection<E, T>, table: T, partsOf: (event: E, origin: Origin) => readonly Row[]): Projection<E, T> =>
  (event, origin, emit) => {
    whole(event, origin, emit);
    for (const part of partsOf(event, origin)) emit(table, part);
  };

const projections: Projections = {
  TurnRecorded: row('turns', turnRow),
  TrajectoryStarted: row('trajectory_starts', trajectoryStartRow),
  TrajectoryFinished: row('trajectories', trajectoryRow),
  WorkerHeartbeat: row('heartbeats', heartbeatRow),
  TrajectoryRequested: row('tasks', taskRow),
  RunStarted: row('run_events', runStartedRow),
  RunContinued: row('run_events', runContinuedRow),
  RunFinished: row('run_events', runFinishedRow),
  GroupsAdmitted: row('admissions', admissionRow),
  StepCompleted: rowAndParts(row('steps', stepRow), 'step_trajectories', stepTrajectoryRows),
  BatchCollected: rowAndParts(row('batches', batchRow), 'collected_trajectories', collectedRows),
  TrajectoryDiscarded: row('discarded_trajectories', discardedRow),
  TrajectoryExpired: row('expired_attempts', expiredRow),
  PolicyPublished: row('policies', policyRow),
  QuestionAccepted: row('questions', acceptedRow),
  QuestionRejected: row('questions', rejectedRow),
  EvaluationStarted: row('evaluation_events', evaluationStartedRow),
  EvaluationCompleted: row('evaluation_events', evaluationCompletedRow),
  AnswerScored: row('evaluation_scores', scoreRow),
  DeadLettered: row('dead_letter_events', deadLetterRow),
  DeadLetterRetried: row('dead_letter_retries', deadLetterRetryRow),
};

/** Gives every row of one event to `emit`; at least one. */
export function project<T extends EventType>(record: LogRecord, decoded: DecodedOf<T>, emit: Emit): void {
  const projection: Projections[T] = projections[decoded.type];
  projection(decoded.event, originOf(record), emit);
}
