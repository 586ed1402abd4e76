import { afterEach, describe, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { overMemory, request, rolloutsOf, testWorker, type TestWorker } from '../../../infra/testing/worker-harness.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { startOfTasks, type TaskStartOptions } from './task-start.ts';
import { systemClock } from '../../../infra/lifecycle/clock.ts';

const GROUP = 'memory.workers.run-a';
const made: TestWorker[] = [];
afterEach(async () => {
  for (const { worker } of made.splice(0)) await worker.stop();
});

/** A worker whose group has no offsets. */
async function unplaced(log: MemoryLog): Promise<TestWorker> {
  const ports = { ...overMemory(new MemoryLog()), writer: log.writer(), tasks: log.group(), offsets: log.offsets, log: log.reader() };
  const test = testWorker({ ...ports, reader: overMemoryReader(log) });
  made.push(test);
  await test.worker.start(new AbortController().signal);
  return test;
}
const overMemoryReader = (log: MemoryLog) => overMemory(new MemoryLog({ codec: log.codec })).reader;
const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 5_000, interval: 5 });
const tasks = (count: number) => Array.from({ length: count }, (_, index) => requested({ trajectory: `g${index}.0` }));
const runFinished = {
  ...{ event_id: 'run-a/9', run_id: 'run-a', occurred_at: 1, producer: 'trainer', sequence: 9, previous_sha256: '' },
  ...{
    steps: 1,
    version: 1,
    reason: 'steps_reached',
    trained: 1,
    discarded: 0,
    admitted: 0,
    open: 0,
    collected: 0,
    batches: 0,
    detail: '',
  },
};

describe('a worker whose group has committed nothing', () => {
  it('waits for the trainer, reports that, and begins at the offsets that the trainer commits', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    await request(log.writer(), tasks(6));
    const test = await unplaced(log);
    await eventually(() => {
      expect(test.status()).toMatchObject({ state: 'waiting', detail: 'for the trainer of run run-a to say where its tasks begin' });
    });
    expect(rolloutsOf(log).attempts.size).toBe(0);
    log.setOffsets(GROUP, [{ topic: 'tasks', partition: 0, offset: 4 }]);
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.keys()]).toEqual(['g4.0/0', 'g5.0/0']);
      expect(test.status()?.state).toBe('live');
    });
  });

  it('begins at the end when the run is finished: only evaluations may come', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    await request(log.writer(), tasks(6));
    await log.writer().append([{ type: 'RunFinished', key: 'run-a', event: runFinished }]);
    await unplaced(log);
    let asked = 0;
    await vi.waitFor(
      async () => {
        await request(log.writer(), [requested({ trajectory: `e${asked++}.0` }, { purpose: 'eval' })]);
        expect(rolloutsOf(log).attempts.size).toBeGreaterThan(0);
      },
      { timeout: 5_000, interval: 20 },
    );
    expect([...rolloutsOf(log).attempts.keys()].every((attempt) => attempt.startsWith('e'))).toBe(true);
  });
});

describe('a run that was continued after its end', () => {
  it('does not count as finished: its trainer determines where its tasks continue', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    await request(log.writer(), tasks(3));
    const {
      trained: _,
      discarded: __,
      admitted: ___,
      open: ____,
      reason: _____,
      ...continued
    } = { ...runFinished, sequence: 10, steps: 2 };
    await log.writer().append([
      { type: 'RunFinished', key: 'run-a', event: runFinished },
      { type: 'RunContinued', key: 'run-a', event: continued },
    ]);
    const test = await unplaced(log);
    await eventually(() => {
      expect(test.status()).toMatchObject({ state: 'waiting', detail: 'for the trainer of run run-a to say where its tasks begin' });
    });
    log.setOffsets(GROUP, [{ topic: 'tasks', partition: 0, offset: 2 }]);
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.keys()]).toEqual(['g2.0/0']);
    });
  });
});

describe('the wait for a start', () => {
  const log = new MemoryLog({ partitions: { tasks: 1 } });
  const options = (fetch: TaskStartOptions['offsets']['fetch'], told: unknown[] = []): TaskStartOptions => ({
    ...{ runId: 'run-a', group: GROUP, log: log.reader(), clock: systemClock, lookMs: 1, offsets: { fetch } },
    onWaiting: (detail) => told.push(detail),
  });
  const session = { commit: async () => undefined, heartbeat: async () => undefined, isOver: () => false };

  it('outlasts an outage, and reports its error', async () => {
    const told: unknown[] = [];
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      if (calls < 3) throw new PlatformError('KAFKA_UNAVAILABLE', 'asking for offsets: no broker answered');
      return [{ partition: 0, offset: 7, metadata: '' }];
    };
    expect(await startOfTasks(options(fetch, told), [0], session)).toEqual([{ topic: 'tasks', partition: 0, offset: 7 }]);
    expect(told).toEqual(['asking for offsets: no broker answered', 'asking for offsets: no broker answered', undefined]);
  });

  it('does not exist for the worker of an evaluation: no trainer sets the start of its group', async () => {
    const told: unknown[] = [];
    const own = { ...options(async () => [], told), group: `${GROUP}.e-1`, addressee: 'e-1' };
    expect(await startOfTasks(own, [0], session)).toEqual([{ topic: 'tasks', partition: 0, offset: 0 }]);
    expect(told).toEqual([undefined]);
  });

  it('ends with its session, and with a failure that is no outage', async () => {
    const fenced = { ...session, heartbeat: () => Promise.reject(new PlatformError('GROUP_FENCED', 'gone')) };
    await expect(
      startOfTasks(
        options(async () => []),
        [0],
        fenced,
      ),
    ).rejects.toMatchObject({ code: 'GROUP_FENCED' });
    const refused = options(() => Promise.reject(new PlatformError('CONFIG_INVALID', 'asking for offsets: not allowed')));
    await expect(startOfTasks(refused, [0], session)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
