import { describe, expect, it } from 'vitest';
import type { PolicyTurn } from '../../../streams/core/agents.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { stepsOf, watchPoints } from '../../../infra/testing/reached.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { policyOf, policyTurn, searchThenAnswer } from '../../../infra/testing/scripted-agents.ts';
import { endOf, overMemory, request, rolloutsOf, testWorker } from '../../../infra/testing/worker-harness.ts';
import { eventually, run, setUpWorker, started, tasks } from './worker.testing.ts';

setUpWorker();

describe('a worker', () => {
  it('reaches the named crash points when it claims, starts, continues and finishes', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    const { points, effects, reach, effect } = watchPoints();
    const ports = overMemory(log);
    const tasksOf: typeof ports.tasks = {
      ...ports.tasks,
      start: (options) =>
        ports.tasks.start({
          ...options,
          onBatch: (batch, session) =>
            options.onBatch(batch, {
              ...session,
              commit: async (positions) => {
                effect(`commit ${positions[0]?.offset ?? -1}`);
                await session.commit(positions);
              },
            }),
        }),
    };
    const test = testWorker({ ...ports, tasks: tasksOf }, { reach, policy: searchThenAnswer(2) });
    started.push(test);
    await test.worker.start(new AbortController().signal);
    await request(log.writer(), tasks(1));
    await eventually(() => {
      expect(points.at(-1)).toBe('worker.finish.after');
    });
    const mid = 'worker.trajectory.mid';
    const [claim, start, finish] = stepsOf('worker').map((step) => [`${step}.before`, `${step}.after`]);
    expect(points).toEqual([...claim!, ...start!, mid, mid, mid, ...finish!]);
    expect(effects).toEqual([['worker.claim', 'commit 1']]);
    expect(endOf(rolloutsOf(log).attempts.get('g0.0/0'))?.status).toBe('answered');
  });

  it('runs the requested attempts and records them completely, in order and with their claims', async () => {
    const log = new MemoryLog();
    await run(log);
    await request(log.writer(), tasks(20));
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].filter((events) => endOf(events) !== undefined)).toHaveLength(20);
    });
    for (const [key, events] of rolloutsOf(log).attempts) {
      expect(events.map(({ type }) => type)).toEqual([
        'TrajectoryStarted',
        'TurnRecorded',
        'TurnRecorded',
        'TurnRecorded',
        'TrajectoryFinished',
      ]);
      expect(events.map(({ event }) => event.event_id)).toEqual([0, 1, 2, 3, 4].map((sequence) => `${key}/${sequence}`));
      const [first] = events;
      const record = log.records('tasks').find(({ key: taskKey }) => `${taskKey?.toString() ?? ''}/0` === key);
      expect(first?.event).toMatchObject({
        task_partition: record?.partition,
        task_offset: record?.offset,
        worker_id: 'w-0',
        purpose: 'train',
      });
      expect(endOf(events)).toMatchObject({
        ...{ status: 'answered', answer: 'Austria', reward: 1, f1: 1, em: 1, format_ok: true, error: '' },
        ...{ turns: 3, tool_calls: 2, tool_errors: 0, prompt_tokens: 300, completion_tokens: 30, version_first: 0, version_last: 0 },
      });
    }
  });

  it('gives every event of an attempt the same trace, and every attempt its own', async () => {
    const log = new MemoryLog();
    await run(log);
    await request(log.writer(), tasks(2));
    await eventually(() => {
      expect(log.records('rollouts').filter(({ headers }) => headers['ce_type']?.toString().endsWith('TrajectoryFinished'))).toHaveLength(
        2,
      );
    });
    const traces = new Map<string, Set<string>>();
    for (const { key, headers } of log.records('rollouts')) {
      const trace = headers['traceparent']?.toString();
      if (trace !== undefined) traces.set(key!.toString(), (traces.get(key!.toString()) ?? new Set()).add(trace));
    }
    expect([...traces.values()].map(({ size }) => size)).toEqual([1, 1]);
    const [[first], [second]] = [...traces.values()].map((each) => [...each]) as [string[], string[]];
    expect(first).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(first).not.toBe(second);
  });

  it('makes the same random choices for the same seed and attempt', async () => {
    const queries = async (attempt: number): Promise<string[]> => {
      const log = new MemoryLog();
      await run(log);
      await request(log.writer(), [requested({ trajectory: 'g0.0', attempt }, { seed: 99 })]);
      const key = `g0.0/${attempt}`;
      await eventually(() => {
        expect(endOf(rolloutsOf(log).attempts.get(key))).toBeDefined();
      });
      return (rolloutsOf(log).attempts.get(key) ?? []).flatMap(({ type, event }) => (type === 'TurnRecorded' ? [event.arguments] : []));
    };
    const first = await queries(0);
    expect(await queries(0)).toEqual(first);
    expect(await queries(1)).not.toEqual(first);
  });

  it('skips unreadable records, repeated requests, and, without decoding them, requests of other runs', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    const reader = overMemory(log).reader;
    const read: string[] = [];
    log.appendRaw('tasks', [{ key: 'x', value: Buffer.from('rubbish'), headers: { 'run-id': 'run-a' } }]);
    await request(log.writer(), [requested({ trajectory: 'other.0', run: 'run-b' }), ...tasks(1), ...tasks(1)]);
    await request(log.writer(), [requested({ trajectory: 'other.1', run: 'run-b' })]);
    await run(log, {
      reader: {
        read(record) {
          read.push(record.headers['run-id']?.toString() ?? '');
          return reader.read(record);
        },
      },
    });
    await eventually(() => {
      expect(endOf(rolloutsOf(log).attempts.get('g0.0/0'))).toBeDefined();
      expect(log.groupOf('memory.workers.run-a').committed('tasks', 0)?.offset).toBe(5);
    });
    expect([...rolloutsOf(log).attempts.keys()]).toEqual(['g0.0/0']);
    expect(rolloutsOf(log).attempts.get('g0.0/0')).toHaveLength(5);
    expect(new Set(read)).toEqual(new Set(['run-a']));
  });

  it('of an evaluation takes the tasks of this evaluation alone, in a group of its own, and nobody else takes them', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    const groups = ['memory.workers.run-a', 'memory.workers.run-a.e-1'];
    for (const group of groups) log.setOffsets(group, [{ topic: 'tasks', partition: 0, offset: 0 }]);
    await run(log, { workerId: 'w-run' });
    await run(log, { workerId: 'w-own', addressee: 'e-1' });
    const asked = (trajectory: string, addressee: string) => requested({ trajectory }, { purpose: 'eval', addressee });
    const [own, another] = [asked('e-1-q0.0', 'e-1'), asked('e-1-q1.0', 'e-1')];
    await request(log.writer(), [own, ...tasks(2), asked('e-2-q0.0', 'e-2'), asked('e-3-q0.0', ''), another]);
    await eventually(() => {
      expect(groups.map((group) => log.groupOf(group).committed('tasks', 0)?.offset)).toEqual([6, 6]);
      expect(rolloutsOf(log).attempts.size).toBe(5);
      const addressees = rolloutsOf(log).heartbeats.map(({ worker_id: id, addressee }) => `${id} ${addressee}`);
      expect(new Set(addressees)).toEqual(new Set(['w-run ', 'w-own e-1']));
    });
    const workers = [...rolloutsOf(log).attempts].map(([attempt, events]) => `${attempt} ${events[0]?.event.worker_id ?? ''}`);
    expect(workers.sort()).toEqual(['e-1-q0.0/0 w-own', 'e-1-q1.0/0 w-own', 'e-3-q0.0/0 w-run', 'g0.0/0 w-run', 'g1.0/0 w-run']);
  });

  it('runs no more trajectories at once than configured, and claims no task before a slot is free', async () => {
    const log = new MemoryLog({ partitions: { tasks: 2 } });
    const gates: ((turn: PolicyTurn) => void)[] = [];
    const policy = policyOf(() => new Promise<PolicyTurn>((resolve) => gates.push(resolve)));
    await run(log, { policy, options: { concurrency: 3 } });
    await request(log.writer(), tasks(10));
    const claimed = () =>
      [0, 1].reduce((sum, partition) => sum + (log.groupOf('memory.workers.run-a').committed('tasks', partition)?.offset ?? 0), 0);
    for (let finished = 0; finished < 10; finished += 1) {
      await eventually(() => {
        expect(gates).toHaveLength(Math.min(3, 10 - finished));
        expect(claimed()).toBe(Math.min(10, finished + 3));
      });
      gates.shift()?.(policyTurn({ tool: 'answer', answer: 'Austria' }));
    }
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].every((events) => endOf(events)?.status === 'answered')).toBe(true);
      expect(rolloutsOf(log).attempts.size).toBe(10);
    });
  });

  it('lists in its heartbeats what it runs, from the claim to the end, and nothing when it is idle', async () => {
    const log = new MemoryLog();
    let answer: (turn: PolicyTurn) => void = () => undefined;
    const test = await run(log, { policy: policyOf(() => new Promise<PolicyTurn>((resolve) => (answer = resolve))) });
    await eventually(() => {
      expect(rolloutsOf(log).heartbeats[0]).toMatchObject({ worker_id: 'w-0', capacity: 4, policy_version: 3, running: [] });
    });
    await request(log.writer(), tasks(1));
    await eventually(() => {
      expect(rolloutsOf(log).heartbeats.at(-1)?.running).toEqual([{ group_id: 'g0', trajectory_id: 'g0.0', attempt: 0 }]);
      expect(test.status()?.figures['running']).toBe(1);
    });
    answer(policyTurn({ tool: 'answer', answer: 'Austria' }));
    await eventually(() => {
      expect(endOf(rolloutsOf(log).attempts.get('g0.0/0'))).toBeDefined();
      expect(rolloutsOf(log).heartbeats.at(-1)?.running).toEqual([]);
    });
    const ids = rolloutsOf(log).heartbeats.map(({ event_id }) => event_id);
    expect(new Set(ids).size).toBe(ids.length);
    await test.worker.stop();
    expect(test.status()).toMatchObject({ state: 'stopping', figures: { running: 0, turns_total: 1, trajectories_total: 1 } });
  });
});
