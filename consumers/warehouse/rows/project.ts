// Every event becomes rows: pure, the same rows for the same record whenever and wherever it is asked.
import type { DecodedEvent } from '../../../schemas/codec.ts';
import type { BatchCollected } from '../../../schemas/generated/events.ts';
import { assertNever } from '../../../streams/core/outcome.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';
import type { LedgerType } from '../../../streams/ledger/chain.ts';
import { originOf, type Emit, type Origin } from './cells.ts';
import { deadLetterRetryRow, deadLetterRow } from './dead-letters.rows.ts';
import { evaluationCompletedRow, evaluationStartedRow, scoreRow } from './evaluations.rows.ts';
import { policyRow } from './policies.rows.ts';
import { acceptedRow, rejectedRow } from './questions.rows.ts';
import { heartbeatRow, trajectoryRow, trajectoryStartRow, turnRow } from './rollouts.rows.ts';
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

type OfTopic<T extends DecodedEvent['type']> = Extract<DecodedEvent, { type: T }>;
type Ledger = OfTopic<Exclude<LedgerType, 'BatchCollected'>>;

/** Gives every row of one event to `emit`; at least one. */
export function project(record: LogRecord, decoded: DecodedEvent, emit: Emit): void {
  const origin = originOf(record);
  switch (decoded.type) {
    case 'TurnRecorded':
      emit('turns', turnRow(decoded.event, origin));
      return;
    case 'TrajectoryStarted':
      emit('trajectory_starts', trajectoryStartRow(decoded.event, origin));
      return;
    case 'TrajectoryFinished':
      emit('trajectories', trajectoryRow(decoded.event, origin));
      return;
    case 'WorkerHeartbeat':
      emit('heartbeats', heartbeatRow(decoded.event, origin));
      return;
    case 'TrajectoryRequested':
      emit('tasks', taskRow(decoded.event, origin));
      return;
    default:
      projectRare({ decoded, origin, emit });
  }
}

type Frequent = 'TurnRecorded' | 'TrajectoryStarted' | 'TrajectoryFinished' | 'WorkerHeartbeat' | 'TrajectoryRequested';

function projectRare(work: { decoded: Exclude<DecodedEvent, { type: Frequent }>; origin: Origin; emit: Emit }): void {
  const { decoded, origin, emit } = work;
  switch (decoded.type) {
    case 'BatchCollected':
      projectBatch({ event: decoded.event, origin, emit });
      return;
    case 'PolicyPublished':
      emit('policies', policyRow(decoded.event, origin));
      return;
    case 'QuestionAccepted':
      emit('questions', acceptedRow(decoded.event, origin));
      return;
    case 'QuestionRejected':
      emit('questions', rejectedRow(decoded.event, origin));
      return;
    case 'EvaluationStarted':
      emit('evaluation_events', evaluationStartedRow(decoded.event, origin));
      return;
    case 'EvaluationCompleted':
      emit('evaluation_events', evaluationCompletedRow(decoded.event, origin));
      return;
    case 'AnswerScored':
      emit('evaluation_scores', scoreRow(decoded.event, origin));
      return;
    case 'DeadLettered':
      emit('dead_letter_events', deadLetterRow(decoded.event, origin));
      return;
    case 'DeadLetterRetried':
      emit('dead_letter_retries', deadLetterRetryRow(decoded.event, origin));
      return;
    default:
      projectLedger({ decoded, origin, emit });
  }
}

function projectBatch({ event, origin, emit }: { event: BatchCollected; origin: Origin; emit: Emit }): void {
  emit('batches', batchRow(event, origin));
  for (const row of collectedRows(event, origin)) emit('collected_trajectories', row);
}

function projectLedger(work: { decoded: Ledger; origin: Origin; emit: Emit }): void {
  const { decoded, origin, emit } = work;
  switch (decoded.type) {
    case 'RunStarted':
      emit('run_events', runStartedRow(decoded.event, origin));
      return;
    case 'RunFinished':
      emit('run_events', runFinishedRow(decoded.event, origin));
      return;
    case 'RunContinued':
      emit('run_events', runContinuedRow(decoded.event, origin));
      return;
    case 'GroupsAdmitted':
      emit('admissions', admissionRow(decoded.event, origin));
      return;
    case 'StepCompleted':
      emit('steps', stepRow(decoded.event, origin));
      for (const row of stepTrajectoryRows(decoded.event, origin)) emit('step_trajectories', row);
      return;
    case 'TrajectoryDiscarded':
      emit('discarded_trajectories', discardedRow(decoded.event, origin));
      return;
    case 'TrajectoryExpired':
      emit('expired_attempts', expiredRow(decoded.event, origin));
      return;
    default:
      assertNever(decoded);
  }
}
