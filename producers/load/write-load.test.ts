import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { createLoad, type LoadOptions } from './load.ts';
import { defaultShape } from './shape.ts';
import { writeLoad, type WriteLoadOptions } from './write-load.ts';

const load = (options: Partial<LoadOptions> = {}): ReturnType<typeof createLoad> =>
  createLoad({
    runId: 'synthetic-test',
    purpose: 'external',
    seed: 1,
    producer: 'load/1',
    startMs: 1_700_000_000_000,
    shape: defaultShape,
    trajectories: 80,
    turns: Infinity,
    open: 0,
    places: 16,
    ...options,
  });

function setUp(options: Partial<WriteLoadOptions> = {}) {
  const log = new MemoryLog();
  let nowMs = 0;
  const write: WriteLoadOptions = {
    load: load(),
    writer: log.writer(),
    rate: 0,
    signal: new AbortController().signal,
    now: () => nowMs,
    pause: async (ms) => {
      nowMs += ms;
    },
    ...options,
  };
  return { log, write, elapsedMs: () => nowMs };
}

describe('writeLoad', () => {
  it('writes the whole load in its order and counts what the log has', async () => {
    const { log, write } = setUp();
    const counts = await writeLoad(write);
    expect(counts.events).toBe(log.records('tasks').length + log.records('rollouts').length);
    expect(counts).toMatchObject({ trajectories: 80, finished: expect.any(Number) as number });
    const expected: string[] = [];
    const again = load();
    for (let event = again.next(); event !== undefined; event = again.next()) expected.push(event.event.event_id);
    const key = 'synthetic-test-g000003';
    const ids = log.records('rollouts').filter((record) => record.key?.toString() === key);
    expect(ids.map(({ headers }) => headers['ce_id']?.toString())).toEqual(
      expected.filter((id) => id.startsWith(`${key}.`) && !id.endsWith('/request')),
    );
  });

  it('keeps to its rate', async () => {
    const { write, elapsedMs } = setUp({ rate: 100 });
    const { turns } = await writeLoad(write);
    expect(elapsedMs() / 1_000).toBeGreaterThan(turns / 100 - 0.1);
    expect(elapsedMs() / 1_000).toBeLessThan(turns / 100 + 0.1);
  });

  it('begins nothing after an abort, and counts what was written before', async () => {
    const abort = new AbortController();
    const { log, write } = setUp({
      rate: 200,
      signal: abort.signal,
      onProgress: ({ turns }) => {
        if (turns > 50) abort.abort();
      },
    });
    const { turns, events } = await writeLoad(write);
    expect(turns).toBeLessThan(100);
    expect(events).toBe(log.records('tasks').length + log.records('rollouts').length);
  });

  it('fails with the error of the log', async () => {
    const { log, write } = setUp();
    log.failNext('append', new PlatformError('RECORD_TOO_LARGE', 'as the test asked'));
    await expect(writeLoad(write)).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' });
  });
});
