import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { outgoing } from '../../infra/testing/events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { finished, requested, started, turn } from '../../infra/testing/rollout-events.ts';
import type { EventDecoder, LogRecord, OutgoingEvent } from '../../streams/core/ports.ts';
import { noMetrics } from '../../streams/core/telemetry.ts';
import { deferred } from '../../streams/core/waiting.ts';
import { foldTask } from '../../streams/run/fold.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { foldRollouts } from './recovery-world.testing.ts';
import { createRolloutFeed } from './rollout-feed.ts';

const codec = createCodec();
const GROUPS = ['g', 'h', 'i'];
const trajectories = GROUPS.flatMap((group) => [`${group}.0`, `${group}.1`]);
const unknown = 'closed.0';

/** The groups are admitted. */
function admitted(): RunState {
  const state = newRunState('run-a');
  trajectories.forEach((trajectory, offset) => {
    foldTask(state, requested({ trajectory }), { partition: 0, offset });
  });
  return state;
}

/** The record of an attempt with this sequence number: its start, two turns, and its end. */
function recordOf(trajectory: string, sequence: number): OutgoingEvent {
  const place = { trajectory, sequence };
  if (sequence === 0) return outgoing('TrajectoryStarted', started(place));
  if (sequence === 3) return outgoing('TrajectoryFinished', finished(place, 1));
  return outgoing('TurnRecorded', turn(place, sequence));
}

interface Followed {
  readonly state: RunState;
  /** Resolves when the whole log has been folded. */
  readonly live: Promise<void>;
  readonly close: () => Promise<void>;
}

async function follow(log: MemoryLog, rollouts: EventDecoder = codecReader(log.codec)): Promise<Followed> {
  const state = admitted();
  const live = deferred();
  const feed = createRolloutFeed({
    state,
    log: log.reader(),
    rollouts,
    signs: {
      heard: () => undefined,
      live: () => {
        live.resolve();
      },
    },
    metrics: noMetrics,
    onFolded: () => undefined,
    onError: live.reject,
  });
  await feed.start();
  return { state, live: live.promise, close: () => feed.close() };
}

/** The state after folding the records one by one, in the order of the log. */
async function oneByOne(log: MemoryLog): Promise<RunState> {
  const state = admitted();
  for (const { partition, first } of await log.reader().bounds('rollouts')) state.rolloutPositions.set(partition, first);
  await foldRollouts({ log, events: codecReader(log.codec) }, state);
  return state;
}

/** A decoder that knows the schemas of these offsets only after it has read them, which ends when `answered` resolves. */
function unknownAt(log: MemoryLog, ...offsets: readonly number[]) {
  const [unread, asked, answered] = [new Set(offsets), deferred(), deferred()];
  const reader = codecReader(log.codec);
  const knows = ({ offset }: LogRecord): boolean => !unread.has(offset);
  const rollouts: EventDecoder = {
    knows,
    async read(record) {
      asked.resolve();
      await answered.promise;
      unread.delete(record.offset);
      return reader.read(record);
    },
    decode: (record) => (knows(record) ? reader.decode(record) : { ok: false, record, reason: 'unknown_schema', error: 'not looked up' }),
  };
  return { rollouts, asked: asked.promise, answered };
}

describe('the trainer, following rollouts', () => {
  it('folds batches group by group to the same state as records one by one', async () => {
    const record = fc.tuple(fc.constantFrom(...trajectories, unknown), fc.nat(3));
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 60 }), async (records) => {
        const log = new MemoryLog({ codec, partitions: { rollouts: 2 } });
        await log.writer().append(records.map(([trajectory, sequence]) => recordOf(trajectory, sequence)));
        const { state, live, close } = await follow(log);
        await live;
        await close();
        expect(state).toEqual(await oneByOne(log));
      }),
      { numRuns: 100 },
    );
  });

  it('has folded nothing of a batch while a schema is looked up, and then all of it', async () => {
    const log = new MemoryLog({ codec, partitions: { rollouts: 1 } });
    await log.writer().append([0, 1, 2, 3].flatMap((sequence) => trajectories.map((trajectory) => recordOf(trajectory, sequence))));
    const { rollouts, asked, answered } = unknownAt(log, 9);
    const { state, live, close } = await follow(log, rollouts);
    await asked;
    expect(state).toEqual({ ...admitted(), rolloutPositions: new Map([[0, 0]]) });
    answered.resolve();
    await live;
    await close();
    expect([...state.decided].sort()).toEqual(GROUPS);
    expect(state).toEqual(await oneByOne(log));
  });

  it('looks up no schema that only other runs and late records use', async () => {
    const log = new MemoryLog({ codec, partitions: { rollouts: 1 } });
    await log.writer().append([recordOf(unknown, 0), recordOf('g.0', 0)]);
    const { rollouts, answered } = unknownAt(log, 0);
    answered.reject(new Error('the registry is away'));
    const { state, live, close } = await follow(log, rollouts);
    await live;
    await close();
    expect(state).toEqual(await oneByOne(log));
  });

  it('looks up the schema of a group that opens while another schema is looked up', async () => {
    const log = new MemoryLog({ codec, partitions: { rollouts: 1 } });
    await log.writer().append([recordOf(unknown, 0), recordOf('g.0', 0)]);
    const { rollouts, asked, answered } = unknownAt(log, 0, 1);
    const { state, live, close } = await follow(log, rollouts);
    await asked;
    foldTask(state, requested({ trajectory: unknown }), { partition: 0, offset: trajectories.length });
    answered.resolve();
    await live;
    await close();
    expect(state.lateRecords).toBe(0);
    expect([...(state.groups.get('closed')?.trajectories.values() ?? [])].map(({ attempts }) => attempts.size)).toEqual([1]);
  });
});
