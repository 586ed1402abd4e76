import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { outgoing } from '../../../infra/testing/events.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { anyRecordedCalls, turnEvents } from '../../../infra/testing/recorded-calls.ts';
import { finished, started } from '../../../infra/testing/rollout-events.ts';
import { createCodec } from '../../../schemas/codec.ts';
import type { OutgoingEvent } from '../../../streams/core/ports.ts';
import type { BatchRows, RowsSource } from '../../../streams/leases/batch-rows.ts';
import { BatchHash, tokensHash } from '../../../streams/rows/row-hash.ts';
import { rowsOf, type TokenRow } from '../../../streams/rows/row.ts';
import type { TokenTurn } from '../../../streams/rows/token-turn.ts';
import { encodeRows } from '../../common/rows/encode.ts';
import { readAttempts } from '../../common/rows/read-attempts.ts';
import { createLogRows } from './log-rows.ts';

const RUN = 'run';
const late = codecReader(createCodec({ late: ['TurnRecorded'] }));

interface Told {
  readonly groupId: string;
  readonly trajectoryId: string;
  readonly attempt: number;
  readonly turns: readonly TokenTurn[];
  readonly reward: number;
  readonly advantage: number;
}

function eventsOf({ trajectoryId: trajectory, groupId, attempt, turns }: Told): readonly OutgoingEvent[] {
  const place = { run: RUN, trajectory, attempt };
  const own = { group_id: groupId, trajectory_id: trajectory, attempt };
  const told = turnEvents(turns, own).map((event) => outgoing('TurnRecorded', event));
  return [
    outgoing('TrajectoryStarted', started({ ...place, sequence: 0 })),
    ...told,
    outgoing('TrajectoryFinished', finished({ ...place, sequence: told.length + 1 }, 1)),
  ];
}

const anyBatch = fc.record({
  attempts: fc.array(
    fc.record({
      calls: anyRecordedCalls,
      other: fc.option(anyRecordedCalls, { nil: undefined }),
      reward: fc.double({ min: -1, max: 1, noNaN: true }),
      advantage: fc.double({ min: -2, max: 2, noNaN: true }),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  /** Which attempt writes the next record. */
  order: fc.array(fc.nat(1_000), { minLength: 40, maxLength: 40 }),
  repeats: fc.array(fc.nat(1_000), { maxLength: 5 }),
});
type AnyBatch = typeof anyBatch extends fc.Arbitrary<infer T> ? T : never;

/** The leased attempts, and others whose records are interleaved with theirs. */
function toldOf({ attempts }: AnyBatch): { readonly leased: readonly Told[]; readonly others: readonly Told[] } {
  const place = (at: number) => ({ groupId: `${RUN}-g${at >> 1}`, trajectoryId: `${RUN}-g${at >> 1}.${at & 1}` });
  return {
    leased: attempts.map(({ calls, reward, advantage }, at) => ({ ...place(at), attempt: 1, turns: calls.turns, reward, advantage })),
    others: attempts.flatMap(({ other }, at) =>
      other === undefined ? [] : [{ ...place(at), attempt: 0, turns: other.turns, reward: 0, advantage: 0 }],
    ),
  };
}

async function logged(
  batch: AnyBatch,
): Promise<{ readonly log: MemoryLog; readonly source: RowsSource; readonly leased: readonly Told[] }> {
  const { leased, others } = toldOf(batch);
  const queues = [...leased, ...others].map((one) => [...eventsOf(one)]);
  const events: OutgoingEvent[] = [];
  for (let turn = 0; queues.some(({ length }) => length > 0); turn += 1) {
    const open = queues.filter(({ length }) => length > 0);
    events.push(open[batch.order[turn % batch.order.length]! % open.length]!.shift()!);
  }
  for (const at of batch.repeats) events.splice(at % (events.length + 1), 0, events[at % events.length]!);
  const log = new MemoryLog({ partitions: { rollouts: 2 } });
  await log.writer().append(events);
  const trajectories = leased.map(({ groupId, trajectoryId, attempt, reward, advantage }) => ({
    ...{ group_id: groupId, trajectory_id: trajectoryId, attempt, reward, advantage },
  }));
  const bounds = await log.reader().bounds('rollouts');
  const rollouts = bounds.map(({ partition, first, end }) => ({ partition, offset: first, end }));
  return { log, source: { run_id: RUN, trajectories, rollouts }, leased };
}

function expectedRows(leased: readonly Told[]): readonly TokenRow[] {
  const rows: TokenRow[] = [];
  for (const one of leased) rows.push(...rowsOf({ ...one, purpose: 'train' }, rows.length));
  return rows;
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const sizeOf = async (rows: BatchRows, source: RowsSource): Promise<number> =>
  (await all(encodeRows(rows.rows(source), 'ndjson'))).reduce((sum, { length }) => sum + length, 0);

describe('the rows of a batch', () => {
  it('follow the order of the batch, as does their measure, in whatever order the log has the records', async () => {
    await fc.assert(
      fc.asyncProperty(anyBatch, fc.constantFrom(0, 3_000, 10_000_000), async (batch, cacheBytes) => {
        const { log, source, leased } = await logged(batch);
        const expected = expectedRows(leased);
        const hash = new BatchHash();
        for (const row of expected) hash.add(row, tokensHash(row));
        for (const events of [late, codecReader(log.codec)]) {
          const rows = createLogRows({ log: log.reader(), events }, cacheBytes);
          const measure = await rows.measure(source);
          expect(await all(rows.rows(source))).toEqual(expected);
          expect(measure).toEqual({
            rows: expected.length,
            tokens: expected.reduce((sum, row) => sum + row.token_ids.length, 0),
            bytes: await sizeOf(rows, source),
            sha256: hash.digest(),
            untrainable: expected.filter(({ trainable }) => !trainable).map(({ row }) => row),
            gone: [],
          });
          expect(await rows.measure(source)).toEqual(measure);
        }
      }),
      { numRuns: 12 },
    );
  });

  it('are read in several passes when memory is too small, each of which returns the next attempts in order', async () => {
    await fc.assert(
      fc.asyncProperty(anyBatch, fc.integer({ min: 0, max: 6_000 }), async (batch, heldBytes) => {
        const { log, source, leased } = await logged(batch);
        const read: string[] = [];
        for (let left = source.trajectories; left.length > 0; left = left.slice(read.length - (leased.length - left.length))) {
          const pass = await all(readAttempts({ log: log.reader(), events: late, runId: RUN }, left, { heldBytes }));
          expect(pass.length).toBeGreaterThan(0);
          for (const { wanted, turns } of pass) {
            const told = leased[read.length]!;
            expect([wanted.trajectory_id, wanted.attempt]).toEqual([told.trajectoryId, 1]);
            expect(turns.map(({ turn }) => turn)).toEqual(told.turns.map(({ turn }) => turn));
            read.push(wanted.trajectory_id);
          }
        }
        expect(read).toEqual(leased.map(({ trajectoryId }) => trajectoryId));
      }),
      { numRuns: 12 },
    );
  });

  it('are read from the log once, until their batch was committed', async () => {
    const { log, source, leased } = await logged(fc.sample(anyBatch, { numRuns: 1, seed: 4 })[0]!);
    const reader = log.reader();
    let reads = 0;
    const readToEnd: typeof reader.readToEnd = (...of) => {
      reads += 1;
      return reader.readToEnd(...of);
    };
    const rows = createLogRows({ log: { ...reader, readToEnd }, events: late });
    await rows.measure(source);
    expect(await all(rows.rows(source))).toEqual(expectedRows(leased));
    expect(reads).toBe(1);
    rows.forget(source);
    expect(await all(rows.rows(source))).toEqual(expectedRows(leased));
    expect(reads).toBe(2);
  });

  it('are measured again when the log does not hold all of them any more', async () => {
    const { log, source } = await logged(fc.sample(anyBatch, { numRuns: 1, seed: 4 })[0]!);
    const rows = createLogRows({ log: log.reader(), events: late });
    const measure = await rows.measure(source);
    for (const { partition, end } of await log.reader().bounds('rollouts')) log.deleteBefore('rollouts', partition, end);
    expect(await rows.measure(source)).toEqual(measure);
    rows.forget(source);
    const again = await rows.measure(source);
    expect(again.sha256).not.toBe(measure.sha256);
    expect(again.gone).toEqual(source.trajectories.map(({ trajectory_id: id }) => id));
  });

  it('are empty for an attempt that the log no longer has', async () => {
    const log = new MemoryLog({ partitions: { rollouts: 1 } });
    const trajectories = [{ group_id: 'g', trajectory_id: 'g.0', attempt: 0, reward: 1, advantage: 0 }];
    const rows = createLogRows({ log: log.reader(), events: late });
    expect(await rows.measure({ run_id: RUN, trajectories, rollouts: [] })).toMatchObject({ rows: 0, tokens: 0, bytes: 0, gone: ['g.0'] });
  });
});
