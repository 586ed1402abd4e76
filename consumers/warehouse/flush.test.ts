// The steps of the sink: every externally visible action is between two crash points.
import { describe, expect, it } from 'vitest';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { MemoryStore } from '../../infra/testing/memory-store.ts';
import { stepsOf, watchPoints } from '../../infra/testing/reached.ts';
import { noMetrics } from '../../streams/core/telemetry.ts';
import { bundled } from './bundle.ts';
import { judgeRecord } from './dead-letter.step.ts';
import { flush, type TakenRecord } from './flush.ts';
import { createPartitionRanges } from './range.ts';
import { clockOf } from '../../infra/testing/clock.ts';

/** A single range of rollouts with an undecodable record. */
async function workOf() {
  const log = new MemoryLog({ partitions: { rollouts: 1 } });
  await log.writer().append(randomEvents(200, seeded(1)));
  log.appendRaw('rollouts', [{ key: 'k', value: Buffer.from('nothing to read') }]);
  const reader = codecReader(log.codec);
  const entries = log
    .records('rollouts')
    .map((record): TakenRecord => ({ offset: record.offset, bytes: 1, record, outcome: judgeRecord(reader.read(record)) }));
  const ranges = createPartitionRanges<TakenRecord>(0, { records: 1_000, bytes: 1e9, waitMs: 0 });
  ranges.offer({ entries, nextOffset: entries.length, endOffset: entries.length }, 0);
  return bundled([{ topic: 'rollouts', partition: 0, range: ranges.due(1)!, asks: false }], { records: 1_000, bytes: 1e9 });
}

const patience = { minMs: 1, maxMs: 1, alive: () => true, pause: async () => undefined, onWaiting: () => undefined };
const session = { heartbeat: async () => undefined, commit: async () => undefined, isOver: () => false };
const deadLetters = { append: async () => [], close: async () => undefined };
const steady = { clock: clockOf(() => 1), metrics: noMetrics, producer: 'warehouse', deadLetterBytes: 1_000, fenceMs: 5_000 };

describe('a flush', () => {
  it('does all its work in the steps that are listed for the sink, in their order, with a crash point between its inserts', async () => {
    const watched = watchPoints();
    const store = new MemoryStore();
    store.beforeInsert = (table) => {
      watched.effect(`insert ${table}`);
    };
    const watchedSession = {
      ...session,
      commit: async ([position]: readonly { readonly offset: number; readonly metadata?: string }[]) => {
        watched.effect(position?.metadata === '' ? 'commit' : 'announce');
      },
    };
    const watchedLetters = {
      ...deadLetters,
      append: async () => {
        watched.effect('letters');
        return [];
      },
    };
    const deps = { ...steady, store, holdings: store.holdings(), deadLetters: watchedLetters, fewRows: 10, reach: watched.reach };
    await flush(await workOf(), { session: watchedSession, patience }, deps);

    const inserts = watched.effects.filter(([step]) => step === 'sink.insert').map(([, effect]) => effect);
    expect(inserts.length).toBeGreaterThan(2);
    expect(watched.effects).toEqual([
      ['sink.intent', 'announce'],
      ['sink.letters', 'letters'],
      ...inserts.map((effect) => ['sink.insert', effect]),
      ['sink.commit', 'commit'],
    ]);
    const mids = watched.points.filter((point) => point === 'sink.insert.mid');
    expect(mids).toHaveLength(inserts.length - 1);
    const around = watched.points.filter((point) => point !== 'sink.insert.mid');
    expect(around).toEqual(stepsOf('sink').flatMap((step) => [`${step}.before`, `${step}.after`]));
  });

  it.each([
    { rows: 'few', fewRows: 10_000, atOnce: 1 },
    { rows: 'many', fewRows: 10, atOnce: 3 },
  ])('inserts $rows rows with $atOnce concurrent inserts', async ({ fewRows, atOnce }) => {
    const store = new MemoryStore();
    let [running, most] = [0, 0];
    store.beforeInsert = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    };
    const deps = { ...steady, store, holdings: store.holdings(), deadLetters, fewRows, reach: () => undefined };
    await flush(await workOf(), { session, patience }, deps);
    expect(most).toBe(atOnce);
  });

  it('inserts the table with the most rows first', async () => {
    const store = new MemoryStore();
    const order: string[] = [];
    store.beforeInsert = (table) => {
      order.push(table);
    };
    const deps = { ...steady, store, holdings: store.holdings(), deadLetters, fewRows: 10_000, reach: () => undefined };
    await flush(await workOf(), { session, patience }, deps);
    const sizes = order.map((table) => store.rows(table).length);
    expect(sizes.length).toBeGreaterThan(2);
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    expect(new Set(sizes).size).toBeGreaterThan(1);
  });
});
