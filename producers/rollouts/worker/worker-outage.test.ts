import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { EventWriter } from '../../../streams/core/ports.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { policyOf, policyTurn } from '../../../infra/testing/scripted-agents.ts';
import { endOf, request, rolloutsOf } from '../../../infra/testing/worker-harness.ts';
import { eventually, run, setUpWorker, tasks } from './worker.testing.ts';

setUpWorker();

describe('a worker without Kafka', () => {
  it('pauses its trajectories within bounded memory, reports that it is waiting, and loses nothing', async () => {
    const log = new MemoryLog();
    let away = false;
    const writer: EventWriter = {
      append: async (events) => {
        if (away) throw new PlatformError('KAFKA_UNAVAILABLE', 'appending to rollouts: no broker answered');
        return log.writer().append(events);
      },
      close: async () => undefined,
    };
    let turns = 0;
    const policy = policyOf(({ turn }) => {
      turns += 1;
      if (turns === 20) away = true;
      return policyTurn(turn < 700 ? { tool: 'search', query: 'Vienna' } : { tool: 'answer', answer: 'Austria' });
    });
    const test = await run(log, { writer, policy, options: { concurrency: 4 } });
    await request(log.writer(), tasks(4, { max_turns: 10_000, max_tokens: 1e9 }));
    await eventually(() => {
      expect(test.status()).toMatchObject({ state: 'waiting', detail: expect.stringContaining('no broker answered') as string });
      // 1,000 unacknowledged events, one waiting event per trajectory, and possibly a heartbeat
      expect(test.status()?.figures['events_pending']).toBeGreaterThanOrEqual(1_004);
    });
    const before = turns;
    for (let tick = 0; tick < 50; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(turns).toBe(before);
    expect(test.status()?.figures['events_pending']).toBeLessThanOrEqual(1_005);
    away = false;
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].map((events) => endOf(events)?.status)).toEqual(Array(4).fill('answered'));
    });
    for (const events of rolloutsOf(log).attempts.values()) {
      expect(events.map(({ event }) => event.sequence)).toEqual(Array.from({ length: 703 }, (_, sequence) => sequence));
    }
    await eventually(() => {
      expect(test.status()?.state).toBe('live');
    });
  });

  it('stops after a bounded time when the log does not come back', async () => {
    const log = new MemoryLog();
    const writer: EventWriter = {
      append: () => Promise.reject(new PlatformError('KAFKA_UNAVAILABLE', 'appending: no broker answered')),
      close: async () => undefined,
    };
    const test = await run(log, { writer, options: { graceMs: 5, drainMs: 20 } });
    await request(log.writer(), tasks(2));
    await eventually(() => {
      expect(test.status()?.figures['running']).toBe(2);
    });
    await test.worker.stop();
    await test.worker.finished;
    expect(log.records('rollouts')).toHaveLength(0);
  });

  it('waits while it cannot claim tasks, and then claims each once', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    for (let fault = 0; fault < 3; fault += 1) log.failNext('offsets');
    await run(log);
    await request(log.writer(), tasks(3));
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].map((events) => events.length)).toEqual([5, 5, 5]);
    });
  });

  it('fails with the error if an event is rejected permanently', async () => {
    const log = new MemoryLog();
    const refusal = new PlatformError('RECORD_TOO_LARGE', 'writing TurnRecorded: too large');
    const writer: EventWriter = { append: () => Promise.reject(refusal), close: async () => undefined };
    const test = await run(log, { writer });
    await request(log.writer(), tasks(1));
    await expect(test.worker.finished).rejects.toBe(refusal);
    expect(test.statuses.some(({ state, detail }) => state === 'failed' && detail.includes('too large'))).toBe(true);
  });
});
