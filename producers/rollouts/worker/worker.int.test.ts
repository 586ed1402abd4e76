// Workers against a real broker: sharing, stopping, freezing, crashing, and a broker outage.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished, beforeAll, describe, expect, it, vi } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import { connectKafka, type KafkaConnection } from '../../../infra/kafka/connect.ts';
import { topicPlanOf } from '../../../infra/kafka/topics/topics.ts';
import { createEventReader } from '../../../infra/registry/event-reader.ts';
import { ownKafka, randomNamespace, useKafka } from '../../../infra/testing/kafka.ts';
import { silentLogger } from '../../../infra/testing/logger.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { slowSearches } from '../../../infra/testing/scripted-agents.ts';
import {
  beginTasks,
  endOf,
  request,
  testWorker,
  type AttemptEvent,
  type TestWorker,
  type WorkerOverrides,
} from '../../../infra/testing/worker-harness.ts';

const codec = createCodec();
const reader = createEventReader(codec, { byId: async () => undefined });

async function connect(brokers: readonly string[]): Promise<{ readonly kafka: KafkaConnection; readonly namespace: string }> {
  const namespace = randomNamespace();
  const kafka = connectKafka({ brokers, namespace, clientId: 'test', codec, logger: silentLogger, sessionTimeoutMs: 6_000 });
  onTestFinished(() => kafka.close());
  await kafka.topics.apply(topicPlanOf({ replication: 1, partitionsRollouts: 2, partitionsTasks: 4, retentionHours: -1 }));
  await beginTasks(kafka, namespace, 4);
  return { kafka, namespace };
}

async function startWorker(kafka: KafkaConnection, namespace: string, overrides: WorkerOverrides): Promise<TestWorker> {
  const ports = { writer: await kafka.writer(), reader, tasks: kafka.group(), offsets: kafka.offsets, log: kafka.reader() };
  const test = testWorker(ports, {
    namespace,
    ...overrides,
    options: { concurrency: 3, heartbeatMs: 500, graceMs: 5_000, ...overrides.options },
  });
  onTestFinished(() => test.worker.stop());
  await test.worker.start(new AbortController().signal);
  return test;
}

/** Everything on `rollouts`, updated as it arrives. */
async function watchRollouts(kafka: KafkaConnection): Promise<ReadonlyMap<string, AttemptEvent[]>> {
  const attempts = new Map<string, AttemptEvent[]>();
  const following = await kafka.reader().follow({
    topics: ['rollouts'],
    from: [],
    otherwise: 'first',
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = await reader.read(record);
        if (!read.ok || read.value.type === 'WorkerHeartbeat' || !('sequence' in read.value.event)) continue;
        const value = read.value as AttemptEvent;
        const key = `${value.event.trajectory_id}/${value.event.attempt}`;
        attempts.set(key, [...(attempts.get(key) ?? []), value]);
      }
    },
    onError: () => undefined,
  });
  onTestFinished(() => following.close());
  return attempts;
}

const tasks = (count: number, fields = {}) => Array.from({ length: count }, (_, index) => requested({ trajectory: `g${index}.0` }, fields));
const ended = (attempts: ReadonlyMap<string, AttemptEvent[]>): number =>
  [...attempts.values()].filter((events) => endOf(events) !== undefined).length;
const workersOf = (events: readonly AttemptEvent[]): readonly string[] => [...new Set(events.map(({ event }) => event.worker_id))];

function expectWhole(attempts: ReadonlyMap<string, readonly AttemptEvent[]>): void {
  for (const [key, events] of attempts) {
    expect({ key, workers: workersOf(events).length }).toEqual({ key, workers: 1 });
    const sequences = [...new Set(events.map(({ event }) => event.sequence))];
    expect({ key, sequences }).toEqual({ key, sequences: sequences.map((_, index) => index) });
  }
}

async function startChild(args: readonly string[]): Promise<ChildProcess & { readonly pid: number }> {
  const child = fork(join(process.cwd(), 'infra/testing/worker-child.ts'), args, { execArgv: ['--import', 'tsx'], stdio: 'inherit' });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => {
      resolve();
    });
    child.once('exit', (code) => {
      reject(new Error(`the worker process ended with ${String(code)}`));
    });
  });
  return child as ChildProcess & { readonly pid: number };
}

const patience = { timeout: 50_000, interval: 50 };

describe('workers on Kafka', () => {
  let brokers: string[];
  beforeAll(async () => {
    ({ brokers } = await useKafka());
  });

  it('share the tasks of a run; what one leaves when it stops is recorded as cancelled or done by the other', async () => {
    const { kafka, namespace } = await connect(brokers);
    const attempts = await watchRollouts(kafka);
    const first = await startWorker(kafka, namespace, { workerId: 'w-1', policy: slowSearches(3, 60) });
    const second = await startWorker(kafka, namespace, { workerId: 'w-2', policy: slowSearches(3, 60) });
    await request(await kafka.writer(), tasks(60));
    await vi.waitFor(() => {
      expect(new Set([...attempts.values()].flatMap(workersOf))).toEqual(new Set(['w-1', 'w-2']));
      expect(ended(attempts)).toBeGreaterThan(10);
    }, patience);
    await first.worker.stop();
    await vi.waitFor(() => {
      expect(ended(attempts)).toBe(60);
    }, patience);
    expectWhole(attempts);
    const byStatus = [...attempts.values()].map((events) => endOf(events)?.status);
    expect(byStatus.filter((status) => status === 'cancelled').length).toBeLessThanOrEqual(3);
    expect(byStatus.every((status) => status === 'answered' || status === 'cancelled')).toBe(true);
    const cancelled = [...attempts.values()].filter((events) => endOf(events)?.status === 'cancelled');
    expect(cancelled.every((events) => workersOf(events)[0] === 'w-1')).toBe(true);
    await second.worker.stop();
    await vi.waitFor(async () => {
      const lag = await kafka.lag(`${namespace}.workers.run-a`, 'tasks');
      expect(lag.every((each) => each.lag === 0)).toBe(true);
    }, patience);
  });

  it('never run the tasks that a frozen worker has claimed, and fence it from those that it has not', async () => {
    const { kafka, namespace } = await connect(brokers);
    const attempts = await watchRollouts(kafka);
    const child = await startChild([brokers[0] ?? '', namespace, 'w-frozen', '150']);
    await request(await kafka.writer(), tasks(40));
    await vi.waitFor(() => {
      expect(attempts.size).toBeGreaterThanOrEqual(3);
    }, patience);
    child.kill('SIGSTOP');
    const claimed = attempts.size;
    await startWorker(kafka, namespace, { workerId: 'w-live', policy: slowSearches(1, 5) });
    await vi.waitFor(() => {
      expect([...attempts.values()].filter((events) => workersOf(events)[0] === 'w-live').length).toBeGreaterThan(40 - claimed - 7);
    }, patience);
    child.kill('SIGCONT');
    await vi.waitFor(() => {
      expect(attempts.size).toBe(40);
      expect(ended(attempts)).toBe(40);
    }, patience);
    expectWhole(attempts);
    const frozen = [...attempts.values()].filter((events) => workersOf(events)[0] === 'w-frozen');
    expect(frozen.length).toBeGreaterThanOrEqual(3);
    expect(frozen.every((events) => endOf(events)?.status === 'answered')).toBe(true);
  });

  it('leave what a killed worker was running to the next attempt, and run the other tasks', async () => {
    const { kafka, namespace } = await connect(brokers);
    const attempts = await watchRollouts(kafka);
    const child = await startChild([brokers[0] ?? '', namespace, 'w-killed', '200']);
    await request(await kafka.writer(), tasks(30));
    await vi.waitFor(() => {
      expect(attempts.size).toBeGreaterThanOrEqual(3);
    }, patience);
    child.kill('SIGKILL');
    await startWorker(kafka, namespace, { workerId: 'w-live', policy: slowSearches(1, 5) });
    await vi.waitFor(async () => {
      const lag = await kafka.lag(`${namespace}.workers.run-a`, 'tasks');
      expect(lag.every((each) => each.lag === 0)).toBe(true);
      const live = [...attempts.values()].filter((events) => workersOf(events)[0] === 'w-live');
      expect(live.length).toBeGreaterThan(0);
      expect(live.every((events) => endOf(events)?.status === 'answered')).toBe(true);
    }, patience);
    expectWhole(attempts);
    const killed = [...attempts.values()].filter((events) => workersOf(events)[0] === 'w-killed');
    const running = killed.filter((events) => endOf(events) === undefined);
    expect(running.length).toBeGreaterThan(0);
    expect(running.length).toBeLessThanOrEqual(3);
    // A claim may be lost before it is recorded, but no more than were running at once.
    expect(attempts.size).toBeGreaterThanOrEqual(30 - 3);
  });

  it('wait while the broker is away, and go on without losing an event', async () => {
    const own = await ownKafka();
    const broker = await own.start();
    const { kafka, namespace } = await connect(broker.brokers);
    const attempts = await watchRollouts(kafka);
    const test = await startWorker(kafka, namespace, { workerId: 'w-1', policy: slowSearches(40, 20) });
    await request(await kafka.writer(), tasks(9, { max_turns: 100 }));
    await vi.waitFor(() => {
      expect(attempts.size).toBeGreaterThanOrEqual(3);
    }, patience);
    broker.kill();
    await broker.exited;
    await vi.waitFor(() => {
      expect(test.status()?.state).toBe('waiting');
    }, patience);
    await own.start();
    await vi.waitFor(() => {
      expect(ended(attempts)).toBe(9);
      expect(test.status()?.state).toBe('live');
    }, patience);
    expectWhole(attempts);
    expect([...attempts.values()].every((events) => endOf(events)?.status === 'answered' && endOf(events)?.sequence === 42)).toBe(true);
  });
});
