// Shared by the parts of the log contract.
import type { EventByType } from '../../../schemas/generated/events.ts';
import type {
  Appended,
  EventWriter,
  GroupConsumer,
  GroupOffsets,
  LogBatch,
  LogReader,
  OutgoingEvent,
  Position,
  TransactionalWriter,
} from '../../../streams/core/ports.ts';
import type { RawRecord } from '../../kafka/records/message.ts';

export interface LogUnderTest {
  writer(): Promise<EventWriter>;
  transactional(id: string): Promise<TransactionalWriter>;
  reader(): LogReader;
  group(): GroupConsumer;
  readonly offsets: GroupOffsets;
  appendRaw(topic: 'rollouts' | 'tasks', records: readonly RawRecord[]): Promise<readonly Appended[]>;
  setOffsets(group: string, positions: readonly Position[]): Promise<void>;
  /** A group name that the log accepts. */
  groupName(name: string): string;
}

let counter = 0;
export const unique = (prefix: string): string => `${prefix}-${process.pid}-${(counter += 1)}`;

export function heartbeat(id: string, run = 'run-a'): OutgoingEvent {
  const event: EventByType['WorkerHeartbeat'] = {
    event_id: id,
    run_id: run,
    occurred_at: 1_750_000_000_123_456,
    producer: 'worker/w 1',
    worker_id: 'w1',
    policy_version: 3,
    capacity: 4,
    running: [],
    addressee: '',
  };
  return { type: 'WorkerHeartbeat', key: id, event, traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
}

export function expired(id: string, sequence: number): OutgoingEvent {
  const event: EventByType['TrajectoryExpired'] = {
    event_id: id,
    run_id: 'run-a',
    occurred_at: 1_750_000_000_000_000,
    producer: 'trainer',
    sequence,
    previous_sha256: '0'.repeat(64),
    group_id: 'g',
    trajectory_id: 'g.0',
    attempt: 0,
    reason: 'silent',
    next_attempt: 1,
  };
  return { type: 'TrajectoryExpired', key: 'run-a', event };
}

export const idsOf = (batches: readonly LogBatch[]): string[] =>
  batches.flatMap((batch) => batch.records.map((record) => record.headers['ce_id']?.toString() ?? ''));

export async function readIds(
  log: LogUnderTest,
  topic: 'rollouts' | 'training' | 'tasks',
  from?: ReadonlyMap<number, number>,
): Promise<string[]> {
  const batches: LogBatch[] = [];
  await log.reader().readToEnd(topic, { ...(from === undefined ? {} : { from }), onBatch: (batch) => void batches.push(batch) });
  return idsOf(batches);
}

export const ends = async (log: LogUnderTest, topic: 'rollouts' | 'training' | 'tasks'): Promise<Map<number, number>> =>
  new Map((await log.reader().bounds(topic)).map(({ partition, end }) => [partition, end]));
