// Random histories of a worker group over an in-memory log: workers join, stop, crash and are expelled; commits fail, arrive late and meet
// a new generation; appends fail and their acknowledgements are lost.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { EventWriter, GroupConsumer, GroupSession } from '../../../streams/core/ports.ts';
import { createRandom } from '../../../streams/core/random.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { policyOf, policyTurn } from '../../../infra/testing/scripted-agents.ts';
import { endOf, overMemory, request, rolloutsOf, testWorker, type AttemptEvent } from '../../../infra/testing/worker-harness.ts';

const GROUP = 'memory.workers.run-a';
const never = new Promise<never>(() => undefined);
const ticks = async (count: number): Promise<void> => {
  for (let tick = 0; tick < count; tick += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** The ports of one process with random faults between it and the log, and a way to cut it off as a crash does. */
function processOver(log: MemoryLog, random: () => number, onLostAnswer: () => void) {
  const memory = overMemory(log);
  let dead = false;
  const alive = async (): Promise<void> => {
    if (dead) await never;
  };
  const writer: EventWriter = {
    async append(events) {
      await alive();
      await ticks(Math.floor(random() * 4));
      await alive();
      const chance = random();
      const away = new PlatformError('KAFKA_UNAVAILABLE', 'appending: no broker answered');
      if (chance < 0.1) throw away;
      const appended = await memory.writer.append(chance < 0.15 ? events.slice(0, 1) : events);
      if (chance < 0.25) throw away;
      return appended;
    },
    close: async () => undefined,
  };
  const delayed = (session: GroupSession): GroupSession => ({
    ...session,
    async commit(positions) {
      await alive();
      await ticks(Math.floor(random() * 12));
      await alive();
      await session.commit(positions);
      if (random() < 0.1) {
        onLostAnswer();
        throw new PlatformError('KAFKA_UNAVAILABLE', 'committing: the answer was lost');
      }
      await ticks(Math.floor(random() * 3));
      await alive();
    },
  });
  const tasks: GroupConsumer = {
    ...memory.tasks,
    start: (options) => {
      const sessions = new WeakMap<GroupSession, GroupSession>();
      return memory.tasks.start({
        ...options,
        onBatch: async (batch, session) => {
          const known = sessions.get(session) ?? delayed(session);
          sessions.set(session, known);
          await options.onBatch(batch, known);
        },
      });
    },
  };
  return {
    ports: { ...memory, writer, tasks },
    async crash() {
      dead = true;
      await memory.tasks.close();
    },
  };
}

type WorkerStep =
  | { readonly do: 'request'; readonly count: number }
  | { readonly do: 'join' | 'expire' | 'fault' }
  | { readonly do: 'stop' | 'crash'; readonly which: number }
  | { readonly do: 'wait'; readonly ticks: number };

const steps: fc.Arbitrary<WorkerStep[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('request' as const), count: fc.integer({ min: 1, max: 8 }) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('join' as const, 'expire' as const, 'expire' as const, 'fault' as const) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('stop' as const, 'crash' as const), which: fc.nat(3) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), ticks: fc.nat(40) }) },
  ),
  { minLength: 4, maxLength: 25 },
);

/** First occurrence of each event: a repeated event_id changes nothing. */
function distinct(events: readonly AttemptEvent[]): readonly AttemptEvent[] {
  const seen = new Set<string>();
  return events.filter(({ event }) => !seen.has(event.event_id) && seen.add(event.event_id));
}

async function play(history: readonly WorkerStep[], seed: number): Promise<void> {
  const random = createRandom(seed);
  const log = new MemoryLog({ partitions: { tasks: 3, rollouts: 2 }, batchRecords: 5 });
  const policy = policyOf(async ({ turn }) => {
    await ticks(Math.floor(random() * 6));
    return policyTurn(turn < 2 ? { tool: 'search', query: 'Vienna' } : { tool: 'answer', answer: 'Austria' });
  });
  const live: { readonly id: string; readonly process: ReturnType<typeof processOver>; readonly test: ReturnType<typeof testWorker> }[] =
    [];
  const crashed = new Set<string>();
  let workers = 0;
  let asked = 0;
  let lostAnswers = 0;
  const join = async (): Promise<void> => {
    const id = `w-${workers++}`;
    const process = processOver(log, random, () => (lostAnswers += 1));
    const test = testWorker(process.ports, {
      workerId: id,
      policy,
      options: { concurrency: 2, heartbeatMs: 5, graceMs: 5_000, drainMs: 5_000 },
    });
    live.push({ id, process, test });
    await test.worker.start(new AbortController().signal);
  };
  const perform = async (step: WorkerStep): Promise<void> => {
    switch (step.do) {
      case 'request':
        await request(
          log.writer(),
          Array.from({ length: step.count }, () => requested({ trajectory: `g${asked++}.0` })),
        );
        return;
      case 'join':
        if (live.length < 4) await join();
        return;
      case 'expire':
        log.expireMembers(GROUP);
        return;
      case 'fault':
        log.failNext('offsets');
        return;
      case 'wait':
        await ticks(step.ticks);
        return;
      default: {
        const [worker] = live.splice(step.which % Math.max(1, live.length), 1);
        if (worker === undefined) return;
        if (step.do === 'stop') await worker.test.worker.stop();
        else await worker.process.crash();
        if (step.do === 'crash') crashed.add(worker.id);
      }
    }
  };
  for (const step of history) await perform(step);
  await join();
  const expected = (): boolean => {
    const { attempts } = rolloutsOf(log);
    const claimed = [0, 1, 2].every((partition) => {
      const end = log.partitionsOf('tasks')[partition]?.slots.length ?? 0;
      return end === 0 || log.groupOf(GROUP).committed('tasks', partition)?.offset === end;
    });
    const over = [...attempts.values()].every((events) => endOf(distinct(events)) !== undefined || crashed.has(events[0]!.event.worker_id));
    return claimed && over && live.every(({ test }) => test.status()?.figures['running'] === 0);
  };
  for (let patience = 0; patience < 3_000 && !expected(); patience += 1) await ticks(5);
  expect(expected()).toBe(true);
  for (const { test } of live) await test.worker.stop();
  check(log, crashed);
  // Only a crash, or a fence after a lost commit response, may have lost a claim.
  if (crashed.size === 0 && lostAnswers === 0) expect(rolloutsOf(log).attempts.size).toBe(asked);
}

function check(log: MemoryLog, crashed: ReadonlySet<string>): void {
  const { attempts } = rolloutsOf(log);
  for (const [key, all] of attempts) {
    const events = distinct(all);
    // Started once, by one worker; sequence numbers without gaps; nothing after the end.
    expect({ key, workers: new Set(all.map(({ event }) => event.worker_id)).size }).toEqual({ key, workers: 1 });
    expect(events.map(({ event }) => event.sequence)).toEqual(events.map((_, sequence) => sequence));
    expect(events[0]?.type).toBe('TrajectoryStarted');
    expect(events.slice(0, -1).some(({ type }) => type === 'TrajectoryFinished')).toBe(false);
    const end = endOf(events);
    if (end === undefined) expect(crashed).toContain(events[0]!.event.worker_id);
    else expect(['answered', 'cancelled']).toContain(end.status);
  }
}

it('never starts an attempt twice, leaves no gaps, and finishes all attempts of workers that did not crash', async () => {
  await fc.assert(fc.asyncProperty(steps, fc.nat(), play), { numRuns: 60, endOnFailure: false });
}, 120_000);
