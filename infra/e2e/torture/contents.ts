// The expected row of each record: its table, and a checksum over its position and the most important columns. Intentionally repeats the
// mapping of the sink, so that a wrong column there is detected.
import { createHash } from 'node:crypto';
import type { DecodedEvent } from '../../../schemas/codec.ts';
import { eventTypes, type EventByType, type EventTopic, type EventType } from '../../../schemas/generated/events.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';

export interface RecordContent {
  readonly partition: number;
  readonly offset: number;
  readonly table: string;
  /** First 8 bytes of the MD5 of the checked text, hex. */
  readonly checksum: string;
  /** Rows of step_trajectories. */
  readonly trained: number;
}

type ComparedField<T extends EventType> = (keyof EventByType[T] & string) | ((event: EventByType[T]) => string | number);
interface TableContents<T extends EventType> {
  readonly table: string;
  /** Columns, and the field of the event that each holds. */
  readonly columns: Readonly<Record<string, ComparedField<T>>>;
}

const entry = { event_id: 'event_id', sequence: 'sequence', previous_sha256: 'previous_sha256' } as const;
const ids = { event_id: 'event_id', trajectory_id: 'trajectory_id', attempt: 'attempt', producer: 'producer' } as const;

const layouts: { readonly [T in EventType]: TableContents<T> } = {
  TrajectoryRequested: { table: 'tasks', columns: { ...ids, question: 'question', seed: 'seed', max_wall_ms: 'max_wall_ms' } },
  TrajectoryStarted: {
    table: 'trajectory_starts',
    columns: { ...ids, worker_id: 'worker_id', task_partition: 'task_partition', task_offset: 'task_offset' },
  },
  TurnRecorded: {
    table: 'turns',
    columns: {
      ...ids,
      sequence: 'sequence',
      text: 'text',
      tool: 'tool',
      tool_status: 'status',
      tool_arguments: 'arguments',
      tool_result: 'result',
      tool_result_sha256: 'result_sha256',
      prompt_tokens: 'prompt_tokens',
      completion_tokens: 'completion_tokens',
      "arrayStringConcat(arrayMap(x -> toString(x), policy_span_versions), ',')": (event) =>
        event.policy_spans.map(({ version }) => version).join(),
      "arrayStringConcat(arrayMap(x -> toString(x), policy_span_tokens), ',')": (event) =>
        event.policy_spans.map(({ tokens }) => tokens).join(),
    },
  },
  TrajectoryFinished: {
    table: 'trajectories',
    columns: { ...ids, sequence: 'sequence', answer: 'answer', status: 'status', turns: 'turns', completion_tokens: 'completion_tokens' },
  },
  RewardAttached: {
    table: 'rewards',
    columns: { ...ids, turn: 'turn', name: 'name', source: 'source', identifier: 'identifier' },
  },
  WorkerHeartbeat: { table: 'heartbeats', columns: { event_id: 'event_id', running: (event) => event.running.length } },
  RunStarted: { table: 'run_events', columns: { ...entry, weights_sha256: 'weights_sha256' } },
  RunFinished: { table: 'run_events', columns: { ...entry, version: 'version' } },
  RunContinued: { table: 'run_events', columns: { ...entry, version: 'version' } },
  GroupsAdmitted: {
    table: 'admissions',
    columns: {
      ...entry,
      running: 'running',
      accepted: 'accepted',
      "arrayStringConcat(group_ids, ',')": (event) => event.groups.map(({ group_id: id }) => id).join(),
    },
  },
  StepCompleted: {
    table: 'steps',
    columns: { ...entry, step: 'step', tokens: 'tokens', batch_sha256: 'batch_sha256', weights_sha256: 'weights_sha256' },
  },
  BatchCollected: { table: 'batches', columns: { ...entry, batch: 'batch', version: 'version', tokens: 'tokens' } },
  TrajectoryDiscarded: {
    table: 'discarded_trajectories',
    columns: { ...entry, trajectory_id: 'trajectory_id', attempt: 'attempt', reason: 'reason', tokens: 'tokens' },
  },
  TrajectoryExpired: {
    table: 'expired_attempts',
    columns: { ...entry, trajectory_id: 'trajectory_id', attempt: 'attempt', reason: 'reason', next_attempt: 'next_attempt' },
  },
  TrainerClaimed: { table: 'trainer_claims', columns: { ...entry, trainer_id: 'trainer_id', epoch: 'epoch' } },
  BatchLeased: { table: 'leases', columns: { ...entry, batch_id: 'batch_id', epoch: 'epoch', batch_sha256: 'batch_sha256' } },
  RunRewound: { table: 'rewinds', columns: { ...entry, version: 'version', to_version: 'to_version' } },
  WeightsNamed: { table: 'named_weights', columns: { ...entry, version: 'version', sha256: 'sha256' } },
  BatchReleased: { table: 'lease_releases', columns: { ...entry, batch_id: 'batch_id', reason: 'reason' } },
  RewardsCounted: {
    table: 'counted_rewards',
    columns: { ...entry, "arrayStringConcat(group_ids, ',')": (event) => event.groups.map(({ group_id: id }) => id).join() },
  },
  PolicyPublished: { table: 'policies', columns: { event_id: 'event_id', version: 'version', sha256: 'sha256' } },
  QuestionAccepted: { table: 'questions', columns: { event_id: 'event_id', question: 'question' } },
  QuestionRejected: { table: 'questions', columns: { event_id: 'event_id', question: 'question' } },
  EvaluationStarted: { table: 'evaluation_events', columns: { event_id: 'event_id' } },
  EvaluationCompleted: { table: 'evaluation_events', columns: { event_id: 'event_id' } },
  AnswerScored: { table: 'evaluation_scores', columns: { event_id: 'event_id', answer: 'answer' } },
  DeadLetterRetried: { table: 'dead_letter_retries', columns: { event_id: 'event_id', letter_id: 'letter_id' } },
  DeadLettered: { table: 'dead_letter_events', columns: { event_id: 'event_id' } },
};

const SEPARATOR = '\u001f';

const layoutOf = (type: EventType): TableContents<EventType> => layouts[type] as TableContents<EventType>;

/** The tables that store the records of a topic, one row per record. */
export const tablesOf = (topic: EventTopic): readonly string[] => [...new Set(eventTypes[topic].map((type) => layoutOf(type).table))];

/** The expected table and checksum of a record. */
export function contentOf({ partition, offset }: Pick<LogRecord, 'partition' | 'offset'>, { type, event }: DecodedEvent): RecordContent {
  const { table, columns } = layoutOf(type);
  const fields = event as unknown as Readonly<Record<string, string | number>>;
  const cells = Object.values(columns).map((field) => (typeof field === 'string' ? fields[field] : field(event)));
  const text = [offset, ...cells].join(SEPARATOR);
  const checksum = createHash('md5').update(text).digest('hex').slice(0, 16).toUpperCase();
  return { partition, offset, table, checksum, trained: type === 'StepCompleted' ? event.trajectories.length : 0 };
}

/** If types share a table, a column of the row names its type, which selects the columns to compare. */
const discriminated: Readonly<Record<string, string>> = {
  run_events: `multiIf(event = 'started', ${sqlText('RunStarted')}, event = 'finished', ${sqlText('RunFinished')}, ${sqlText('RunContinued')})`,
};

function sqlText(type: EventType): string {
  const cells = ['_offset', ...Object.keys(layoutOf(type).columns)].map((column) => `toString(${column})`);
  return `arrayStringConcat([${cells.join(', ')}], char(31))`;
}

/** SQL of the same checksum over a row, by table. */
export const checksumSql: ReadonlyMap<string, string> = new Map(
  (Object.keys(layouts) as EventType[]).map((type) => {
    const { table } = layoutOf(type);
    return [table, `hex(substring(MD5(${discriminated[table] ?? sqlText(type)}), 1, 8))`] as const;
  }),
);
