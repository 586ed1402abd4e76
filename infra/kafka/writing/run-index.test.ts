import { describe, expect, it } from 'vitest';
import type { LogReader } from '../../../streams/core/ports.ts';
import { randomEvent, seeded } from '../../testing/events.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { COMPLETE_RECORD, createRunIndex } from './run-index.ts';

/** A topic for the index, and the number of scans of `training`. */
function rig(log: MemoryLog, records: { key: string; value: Buffer }[] = []) {
  const reader = log.reader();
  let looks = 0;
  const index = createRunIndex({
    topic: {
      append: async (added) => {
        for (const { key, value } of added) records.push({ key: String(key), value: value as Buffer });
        return [];
      },
      readToEnd: async ({ onBatch }) => {
        const place = { topic: 'runs' as never, partition: 0, timestampMs: 0, headers: {} };
        const read = records.map(({ key, value }, offset) => ({ ...place, offset, key: Buffer.from(key), value }));
        await onBatch({ topic: 'runs' as never, partition: 0, records: read, nextOffset: records.length, endOffset: records.length });
      },
    },
    log: {
      readToEnd: async (...args: Parameters<LogReader['readToEnd']>) => {
        looks += 1;
        await reader.readToEnd(...args);
      },
    },
  });
  return { index, records, looks: () => looks };
}

async function entries(log: MemoryLog, runs: readonly string[]): Promise<void> {
  const events = runs.map((run, i) => ({
    type: 'TrajectoryExpired' as const,
    key: run,
    event: { ...randomEvent('TrajectoryExpired', seeded(i)), run_id: run },
  }));
  await log.writer().append(events);
}

describe('the index of runs', () => {
  it('shows that a run has not begun, without a scan of the entries of other runs', async () => {
    const log = new MemoryLog();
    await entries(
      log,
      Array.from({ length: 100 }, (_, i) => `other-${i % 7}`),
    );
    const { index, looks } = rig(log, [COMPLETE_RECORD]);
    expect(await index.startOf('mine')).toBeUndefined();
    await index.note('mine', { training: 100, policies: 7 });
    expect(await index.startOf('mine')).toEqual({ training: 100, policies: 7 });
    expect(looks()).toBe(0);
  });

  it('is completed once if the ledger is older than the index', async () => {
    const log = new MemoryLog();
    await entries(log, ['a', 'a', 'b', 'a', 'c']);
    const { index, looks } = rig(log);
    expect(await index.startOf('b')).toEqual({ training: 2, policies: 0 });
    expect(await index.startOf('c')).toEqual({ training: 4, policies: 0 });
    expect(await index.startOf('d')).toBeUndefined();
    expect(looks()).toBe(1);
  });

  it('returns where each run begins, in every topic for which that was noted', async () => {
    const log = new MemoryLog();
    await entries(log, ['a', 'b']);
    const { index, looks } = rig(log);
    const start = { training: 1, policies: 0, rollouts: [7, 9], tasks: [3] };
    await index.note('c', start);
    expect(await index.startOf('c')).toEqual(start);
    expect(await index.starts()).toEqual(
      new Map<string, unknown>([
        ['a', { training: 0, policies: 0 }],
        ['b', { training: 1, policies: 0 }],
        ['c', start],
      ]),
    );
    expect([...(await index.starts()).keys()].sort()).toEqual(['a', 'b', 'c']);
    expect(looks()).toBe(1);
  });

  it('ignores records that are not valid entries', async () => {
    const text = (key: string, value: string) => ({ key, value: Buffer.from(value) });
    const { index } = rig(new MemoryLog(), [text('a', '{'), text('b', '{"training":-1,"policies":0}'), text('c', 'null'), COMPLETE_RECORD]);
    for (const run of ['a', 'b', 'c']) expect(await index.startOf(run)).toBeUndefined();
  });
});
