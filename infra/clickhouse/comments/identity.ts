// Columns that many tables share: identity, position, and origin of a row.
import type { Comments } from './comments.ts';

export const identity: Comments = {
  // Ids
  run_id: 'Name of the run; empty for events that belong to no run',
  group_id: 'Id of the group: the trajectories that answer one question together',
  trajectory_id: 'Id of the trajectory: <group_id>.<sample>',
  attempt: 'Number of the attempt at the trajectory, from 0',
  sample: 'Number of the trajectory within its group or question, from 0',
  turn: 'Number of the turn within its attempt, from 0',
  call_id: 'Id of the tool call within its trajectory; empty if the turn called no tool',
  question_id: 'Id of the question',
  evaluation_id: 'Id of the evaluation; empty for tasks outside of evaluations',
  worker_id: 'Id of the worker that ran the attempt',
  letter_id: 'Id of the dead letter: its event_id',
  event_id: 'Id of the event; the same id twice is the same event',
  event: 'Type of the event',
  purpose: 'Purpose: train, eval, or external',
  step: 'Number of the step, from 1; step t trains version t - 1 into version t',

  // Origin
  producer: 'Role and id of the process that wrote the event',
  occurred_at: 'Time of the event by the clock of its producer, UTC, microseconds',
  at: 'Time of the event by the clock of the trainer, UTC, microseconds',
  _topic: 'Kafka topic of the record',
  _partition: 'Kafka partition of the record, from 0',
  _offset: 'Kafka offset of the record within its partition',
  _timestamp: 'Time of the record in Kafka, UTC, milliseconds',

  // Ledger
  sequence: 'Position of the entry in the ledger of the run, from 0',
  previous_sha256: 'SHA-256 of the ledger entry before this one, hexadecimal; 64 zeros for the first',
  version: 'Policy version when the entry was written',
  version_before: 'Policy version that the step started from',
  version_after: 'Policy version that the step produced',

  // Migrations
  number: 'Number of the migration, from 1',
  name: 'Name of the migration: its file without .sql',
  checksum: 'SHA-256 of the statements of the migration, hexadecimal',
  applied_at: 'Time at which the migration was applied, UTC, milliseconds',
};

const newestOfRun = 'Newest policy version of the run; 0 before the first step';

export const identityOf: Readonly<Record<string, Comments>> = {
  heartbeats: {
    worker_id: 'Id of the worker',
    policy_version: 'Newest policy version that the worker knows',
  },
  trajectories: { sequence: 'Position of the event within its attempt, from 0' },
  trajectory_starts: {
    sequence: 'Position of the event within its attempt, from 0',
  },
  dead_letter_events: { step: 'Processing step that failed' },
  dead_letters: { step: 'Processing step that failed' },
  outcomes: {
    at: 'Time of the step or of the discard, UTC, microseconds',
    step: 'Step that trained on the trajectory, or for a discard the version at that time + 1',
  },
  staleness_by_step: {
    step: 'Number of the step; a discard at version v belongs to step v + 1',
  },
  selection_bias: {
    step: 'Number of the step; a discard at version v belongs to step v + 1',
  },
  run_events: {
    event: 'started, continued, or finished',
    version: 'Policy version at the end of the run; 0 in the start event',
  },
  runs: { version: newestOfRun },
  run_overviews: { version: newestOfRun },
  policies: { version: 'Policy version that was published; 0 is the first' },
  evaluation_events: { event: 'started or completed' },
};
