// When a generation of a member ends, according to the events of kafkajs. The consumer is scripted; edges.int.test.ts uses a real one.
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { afterEach, describe, expect, it } from 'vitest';
import type { GroupConsumer, GroupSession } from '../../../streams/core/ports.ts';
import { silentLogger } from '../../testing/logger.ts';
import { createGroupConsumer } from './group-consumer.ts';
import { outOfRangeListeners } from '../patches/out-of-range.ts';
import { createNames } from '../names.ts';

const names = [
  'GROUP_JOIN',
  'REBALANCING',
  'REQUEST',
  'FETCH_START',
  'FETCH',
  'HEARTBEAT',
  'START_BATCH_PROCESS',
  'CRASH',
  'COMMIT_OFFSETS',
];

function scripted() {
  const listeners = new Map<string, Set<(event: { payload: unknown }) => void>>();
  const emit = (name: string, payload: unknown = {}): void => {
    for (const listener of listeners.get(name) ?? []) listener({ payload });
  };
  const committed: unknown[] = [];
  const sought: unknown[] = [];
  const consumer = {
    events: Object.fromEntries(names.map((name) => [name, name])),
    on(name: string, listener: (event: { payload: unknown }) => void) {
      const those = listeners.get(name) ?? new Set();
      listeners.set(name, those.add(listener));
      return () => those.delete(listener);
    },
    connect: async () => undefined,
    subscribe: async () => undefined,
    run: async () => {
      emit('GROUP_JOIN', { memberId: 'm', memberAssignment: { 't.tasks': [0] } });
    },
    seek: (to: unknown) => {
      sought.push(to);
    },
    commitOffsets: async (offsets: unknown) => {
      committed.push(offsets);
      emit('COMMIT_OFFSETS');
    },
    disconnect: async () => undefined,
  };
  let made = 0;
  const kafka = {
    consumer: () => {
      made += 1;
      listeners.clear();
      return consumer as unknown as Consumer;
    },
  } as unknown as Kafka;
  return { kafka, emit, committed, sought, made: () => made };
}

describe('a generation of a member', () => {
  let member: GroupConsumer | undefined;
  afterEach(() => member?.close());

  async function begin(first = 0, offset = -1) {
    const { kafka, emit, committed, sought, made } = scripted();
    const skipped: unknown[] = [];
    const sessions: GroupSession[] = [];
    const errors: unknown[] = [];
    member = createGroupConsumer({
      ...{ kafka, names: createNames('t'), logger: silentLogger },
      bounds: async () => [{ partition: 0, first, end: 20 }],
      offsets: { fetch: async () => [{ partition: 0, offset, metadata: '' }] },
      tellSkipped: (range) => skipped.push(range),
    });
    await member.start({
      group: 'g',
      topics: ['tasks'],
      onAssigned: async (_assigned, session) => {
        sessions.push(session);
        return [];
      },
      onBatch: async (_batch: unknown, _session: unknown) => undefined,
      onError: (error) => errors.push(error),
    });
    const position = [{ topic: 'tasks' as const, partition: 0, offset: 1 }];
    await expect.poll(() => sessions.length).toBe(1);
    return { emit, committed, sought, skipped, sessions, position, errors, made };
  }

  it.each<readonly [string, string, Partial<EachBatchPayload> | { readonly apiName: string }]>([
    ['the group is rebalancing', 'REBALANCING', {}],
    ['its member rejoins without an event', 'REQUEST', { apiName: 'JoinGroup' }],
  ])('is over as soon as %s, and the next one commits', async (_what, name, payload) => {
    const { emit, committed, sessions, position } = await begin();
    await sessions[0]!.commit(position);
    expect(committed).toHaveLength(1);
    emit('REQUEST', { apiName: 'Heartbeat' });
    await sessions[0]!.heartbeat();
    emit(name, payload);
    await expect(sessions[0]!.heartbeat()).rejects.toMatchObject({ code: 'GROUP_FENCED' });
    await expect(sessions[0]!.commit(position)).rejects.toMatchObject({ code: 'GROUP_FENCED' });
    emit('GROUP_JOIN', { memberAssignment: { 't.tasks': [0] } });
    await expect.poll(() => sessions.length).toBe(2);
    await expect(sessions[0]!.commit(position)).rejects.toMatchObject({ code: 'GROUP_FENCED' });
    expect(committed).toHaveLength(1);
    await sessions[1]!.commit(position);
    expect(committed).toHaveLength(2);
  });

  it.each([
    ['retention deleted', { first: 10, offset: 4, skipped: [{ topic: 'tasks', partition: 0, from: 4, to: 10 }] }],
    ['the log lost with its newest records', { first: 2, offset: 40, skipped: [] }],
  ])('moves to the first record from a position that %s, and reports it', async (_what, { first, offset, skipped }) => {
    const member = await begin(first, offset);
    const tell = () =>
      outOfRangeListeners.get('g')?.forEach((listener) => {
        listener({ topic: 't.tasks', partition: 0, memberId: 'm' });
      });
    tell();
    tell(); // a seek happened meanwhile
    await expect.poll(() => member.sought).toEqual([{ topic: 't.tasks', partition: 0, offset: String(first) }]);
    expect(member.committed).toEqual([[{ topic: 't.tasks', partition: 0, offset: String(first), metadata: null }]]);
    expect(member.skipped).toEqual(skipped);
    expect(member.errors).toEqual([]);
  });

  it('starts another consumer when kafkajs fetches although joining failed halfway', async () => {
    const { emit, sessions, errors, made, position, committed } = await begin();
    emit('FETCH_START');
    emit('REQUEST', { apiName: 'JoinGroup' });
    emit('FETCH_START');
    await expect.poll(() => sessions.length).toBe(2);
    expect(made()).toBe(2);
    expect(errors).toMatchObject([{ message: expect.stringContaining('without having joined') as unknown }]);
    emit('FETCH_START');
    await sessions[1]!.commit(position);
    expect({ committed: committed.length, made: made() }).toEqual({ committed: 1, made: 2 });
  });
});
