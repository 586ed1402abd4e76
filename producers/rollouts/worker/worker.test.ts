import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PolicyTurn } from '../../../streams/core/agents.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { EventWriter } from '../../../streams/core/ports.ts';
import { JUDGE_PROMPT_SHA256 } from '../../../streams/reward/judge-prompt.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { askedAs } from '../../../streams/reward/validity.ts';
import type { Judge } from '../../evaluations/judge.ts';
import { stepsOf, watchPoints } from '../../../infra/testing/reached.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { policyOf, policyTurn, searchThenAnswer, toolResult, toolsOf } from '../../../infra/testing/scripted-agents.ts';
import {
  endOf,
  overMemory,
  request,
  rolloutsOf,
  testWorker,
  type TestWorker,
  type WorkerOverrides,
} from '../../../infra/testing/worker-harness.ts';

const started: TestWorker[] = [];
afterEach(async () => {
  for (const { worker } of started.splice(0)) await worker.stop();
});

async function run(log: MemoryLog, overrides: WorkerOverrides = {}): Promise<TestWorker> {
  const test = testWorker(overMemory(log), overrides);
  started.push(test);
  await test.worker.start(new AbortController().signal);
  return test;
}

const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 5_000, interval: 2 });
const tasks = (count: number, fields = {}) => Array.from({ length: count }, (_, index) => requested({ trajectory: `g${index}.0` }, fields));

describe('a worker', () => {
  it('records a tool result of 100 MB with its length and hash, cut to what a record takes, and keeps nothing of it', async () => {
    const text = 'Vienna. '.repeat(12_500_000);
    const log = new MemoryLog();
    await run(log, { policy: searchThenAnswer(1), tools: toolsOf(() => toolResult({ text })) });
    await request(log.writer(), tasks(1));
    await vi.waitFor(
      () => {
        expect(endOf(rolloutsOf(log).attempts.get('g0.0/0'))).toMatchObject({ status: 'answered', turns: 2 });
      },
      { timeout: 20_000, interval: 20 },
    );
    const turn = rolloutsOf(log).attempts.get('g0.0/0')?.[1];
    const result_sha256 = createHash('sha256').update(text).digest('hex');
    expect(turn?.event).toMatchObject({ tool: 'search', status: 'ok', truncated: true, result_chars: text.length, result_sha256 });
    for (const { value } of log.records('rollouts')) expect(value?.length ?? 0).toBeLessThan(900_000);
  });

  it('claims, starts, goes on and finishes in named steps', async () => {
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

  it('runs what is asked for and records it whole, in order and with its claim', async () => {
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

  it('records the verdict that is part of a reward of training, once, and asks for none in an evaluation', async () => {
    const log = new MemoryLog();
    const asked: string[] = [];
    const judge: Judge = {
      name: 'judge-7b',
      judge({ question }) {
        asked.push(question);
        return Promise.resolve({ verdict: 'incorrect', reason: 'no', tries: 1, by: { servedAs: 'j', version: 2 } });
      },
    };
    await run(log, { rewardJudge: { judge, share: 0.25 } });
    await request(log.writer(), [
      requested({ trajectory: 'g0.0' }, { question: 'Which one?' }),
      requested({ trajectory: 'g1.0' }, { purpose: 'eval' }),
    ]);
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].filter((events) => endOf(events) !== undefined)).toHaveLength(2);
    });
    const [train, evaluated] = ['g0.0/0', 'g1.0/0'].map((key) => endOf(rolloutsOf(log).attempts.get(key)));
    expect(train).toMatchObject({ status: 'answered', reward: 0.75, f1: 1, judge: 'judge-7b', verdict: 'incorrect', judge_reason: 'no' });
    expect(train).toMatchObject({ judge_tries: 1, judge_served: 'j', judge_version: 2, judge_prompt_sha256: JUDGE_PROMPT_SHA256 });
    expect(evaluated).toMatchObject({ reward: 1, judge: '', verdict: '', judge_version: -1, judge_prompt_sha256: '' });
    expect(asked).toEqual(['Which one?']);
  });

  it('asks the groups of training as valid or open, and records what that made of the reward', async () => {
    const log = new MemoryLog();
    const seen = new Map<string, string>();
    const policy = policyOf(({ question, askedAs: how = '' }) => {
      seen.set(question, how);
      return policyTurn({ tool: 'answer', answer: 'the question is invalid.' });
    });
    await run(log, { policy, validShare: 0.5 });
    const groups = Array.from({ length: 12 }, (_, index) => `g${index}`);
    await request(log.writer(), groups.flatMap((group) => [
      requested({ trajectory: `${group}.0` }, { group_id: group, question: `${group}?` }),
      requested({ trajectory: `${group}-eval.0` }, { group_id: `${group}-eval`, question: `${group} eval?`, purpose: 'eval' }),
    ])); // prettier-ignore
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].filter((events) => endOf(events) !== undefined)).toHaveLength(24);
    });
    const ends = groups.map((group) => endOf(rolloutsOf(log).attempts.get(`${group}.0/0`)));
    expect(ends.map((end) => end?.asked_as)).toEqual(groups.map((group) => askedAs(group, 0.5)));
    expect(new Set(ends.map((end) => end?.asked_as))).toEqual(new Set(['valid', 'open']));
    for (const end of ends) {
      expect(end).toMatchObject({ called_invalid: true, reward: end?.asked_as === 'valid' ? -0.5 : 0, status: 'answered' });
      expect(seen.get(end?.question ?? '')).toBe(end?.asked_as);
    }
    for (const group of groups) {
      expect(endOf(rolloutsOf(log).attempts.get(`${group}-eval.0/0`))).toMatchObject({ asked_as: '', called_invalid: false, reward: 0 });
    }
  });

  it('has no attempt that is worth 0 because nobody judged it', async () => {
    const log = new MemoryLog();
    const judge: Judge = {
      name: 'j',
      judge: () => Promise.reject(new PlatformError('MODEL_UNAVAILABLE', 'judging answers with j: HTTP 500')),
    };
    await run(log, { rewardJudge: { judge, share: 1 } });
    await request(log.writer(), tasks(1));
    await eventually(() => {
      expect(endOf(rolloutsOf(log).attempts.get('g0.0/0'))).toMatchObject({ status: 'failed', error: 'judging answers with j: HTTP 500' });
    });
  });

  it('ends attempts that are asked of a version at once when a newer one is out, and no others', async () => {
    const log = new MemoryLog();
    let tell: (version: number) => void = () => undefined;
    const policy = policyOf((_, { signal }) => {
      return new Promise<PolicyTurn>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('given up'));
        });
      });
    });
    await run(log, { policy, onNewest: (listener) => (tell = listener), options: { concurrency: 8 } });
    const asked = [
      requested({ trajectory: 'g0.0' }, { policy_version: 3 }),
      requested({ trajectory: 'g1.0' }, { policy_version: 4 }),
      requested({ trajectory: 'g2.0' }, { policy_version: -1 }),
      requested({ trajectory: 'g3.0' }, { policy_version: 3, purpose: 'eval' }),
      // its version is no longer the newest when it is taken
      requested({ trajectory: 'g4.0' }, { policy_version: 2 }),
    ];
    await request(log.writer(), asked);
    const ended = () => [...rolloutsOf(log).attempts].flatMap(([key, events]) => (endOf(events) === undefined ? [] : [key])).sort();
    await eventually(() => {
      expect(rolloutsOf(log).attempts.size).toBe(5);
      expect(ended()).toEqual(['g4.0/0']);
    });
    tell(4);
    await eventually(() => {
      expect(ended()).toEqual(['g0.0/0', 'g4.0/0']);
    });
    expect(endOf(rolloutsOf(log).attempts.get('g0.0/0'))).toMatchObject({
      status: 'cancelled',
      reward: 0,
      error: 'a newer version of the policy is out',
    });
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

  it('scores an evaluation with the eval variant and rewards it with the train variant', async () => {
    const log = new MemoryLog();
    await run(log, { policy: searchThenAnswer(0, 'True') });
    await request(log.writer(), [
      requested({ trajectory: 'e.0' }, { purpose: 'eval', answers: ['yes'] }),
      requested({ trajectory: 't.0' }, { purpose: 'train', answers: ['yes'] }),
    ]);
    await eventually(() => {
      expect(endOf(rolloutsOf(log).attempts.get('e.0/0'))).toMatchObject({ purpose: 'eval', reward: 1, f1: 0, em: 0 });
      expect(endOf(rolloutsOf(log).attempts.get('t.0/0'))).toMatchObject({ purpose: 'train', reward: 1, f1: 1, em: 1 });
    });
  });

  it('passes over other runs without decoding, over what it cannot read and over repeated requests', async () => {
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

  it('runs no more at once than it has room for, and claims no task before it has', async () => {
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

  it('tells with its heartbeats what it runs, from the claim to the end, and that it is idle', async () => {
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

  it('stops: running turns end, trajectories are recorded as cancelled, unclaimed tasks stay for others', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    let waiting = 0;
    const release: (() => void)[] = [];
    const policy = policyOf(async () => {
      waiting += 1;
      await new Promise<void>((resolve) => release.push(resolve));
      return policyTurn({ tool: 'search', query: 'Vienna' });
    });
    const test = await run(log, { policy, options: { concurrency: 2, graceMs: 5_000 } });
    await request(log.writer(), tasks(5));
    await eventually(() => {
      expect(waiting).toBe(2);
    });
    const stopped = test.worker.stop();
    for (const each of release) each();
    await stopped;
    await test.worker.finished;
    const { attempts, heartbeats } = rolloutsOf(log);
    expect(attempts.size).toBe(2);
    for (const events of attempts.values()) {
      expect(events.map(({ type }) => type)).toEqual(['TrajectoryStarted', 'TurnRecorded', 'TrajectoryFinished']);
      expect(endOf(events)).toMatchObject({ status: 'cancelled', reward: 0, turns: 1 });
    }
    expect(heartbeats.at(-1)?.running).toEqual([]);
    expect(log.groupOf('memory.workers.run-a').committed('tasks', 0)?.offset).toBe(2);
    await run(log, { workerId: 'w-1' });
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].filter((events) => endOf(events)?.worker_id === 'w-1')).toHaveLength(3);
    });
  });

  it('records an attempt as cancelled when its running turn does not end in time', async () => {
    const log = new MemoryLog();
    const test = await run(log, { policy: policyOf(() => new Promise<never>(() => undefined)), options: { graceMs: 10 } });
    await request(log.writer(), tasks(1));
    await eventually(() => {
      expect(test.status()?.figures['running']).toBe(1);
    });
    await test.worker.stop();
    expect(endOf(rolloutsOf(log).attempts.get('g0.0/0'))).toMatchObject({ status: 'cancelled', turns: 0, sequence: 1 });
  });

  it('gives up an attempt whose policy hangs past the wall-clock limit, and goes on with its place', async () => {
    const log = new MemoryLog();
    const policy = policyOf(({ question }) =>
      question === 'hang' ? new Promise<never>(() => undefined) : policyTurn({ tool: 'answer', answer: 'Austria' }),
    );
    await run(log, { policy, options: { concurrency: 1, overrunMs: 10 } });
    await request(log.writer(), [
      requested({ trajectory: 'g0.0' }, { question: 'hang', max_wall_ms: 5 }),
      requested({ trajectory: 'g0.1' }),
      requested({ trajectory: 'g1.0' }),
    ]);
    await eventually(() => {
      const { attempts } = rolloutsOf(log);
      expect(endOf(attempts.get('g0.0/0'))?.status).toBe('timeout');
      expect(endOf(attempts.get('g0.1/0'))?.status).toBe('answered');
      expect(endOf(attempts.get('g1.0/0'))?.status).toBe('answered');
    });
  });

  it.each([
    ['a policy that throws', { policy: policyOf(() => Promise.reject(new TypeError('logits is not defined'))) }, 'logits is not defined'],
    ['a tool that throws', { tools: toolsOf(() => Promise.reject(new TypeError('page is undefined'))) }, 'page is undefined'],
    ['a tool whose result is no text', { tools: toolsOf(() => toolResult({ text: 7 as unknown as string })) }, 'string'],
    [
      'a turn that no event can carry',
      { policy: policyOf(() => policyTurn(undefined, { text: undefined as unknown as string })) },
      'split',
    ],
  ])('survives %s: the attempt ends as failed with the error', async (_name, overrides, error) => {
    const log = new MemoryLog();
    const test = await run(log, overrides);
    await request(log.writer(), tasks(3));
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].filter((events) => endOf(events) !== undefined)).toHaveLength(3);
    });
    for (const events of rolloutsOf(log).attempts.values()) {
      expect(endOf(events)).toMatchObject({ status: 'failed', turns: 0, sequence: 1, reward: 0 });
      expect(endOf(events)?.error).toContain(error);
    }
    expect(test.status()?.state).toBe('live');
  });

  it('writes the numbers of a strange policy as numbers that an event can carry', async () => {
    const log = new MemoryLog();
    const policy = policyOf(() =>
      policyTurn(
        { tool: 'answer', answer: 'Austria' },
        { spans: [{ version: Number.NaN, tokens: 1.5 }, { version: 2 ** 40, tokens: -3 }], promptTokens: Number.POSITIVE_INFINITY, completionTokens: Number.NaN }, // prettier-ignore
      ),
    );
    await run(log, { policy });
    await request(log.writer(), tasks(1));
    await eventually(() => {
      expect(rolloutsOf(log).attempts.get('g0.0/0')?.[1]?.event).toMatchObject({
        policy_spans: [{ version: -1, tokens: 2 }, { version: -1, tokens: 0 }], // prettier-ignore
        prompt_tokens: 2 ** 31 - 1,
        completion_tokens: 0,
      });
    });
  });
});

describe('a worker without Kafka', () => {
  it('waits with its trajectories, keeps memory bounded, says so, and loses nothing', async () => {
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
      // 1,000 unacknowledged events, one more that waits for room in each trajectory, and possibly a heartbeat.
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

  it('waits when it cannot claim, and claims once when it can', async () => {
    const log = new MemoryLog({ partitions: { tasks: 1 } });
    for (let fault = 0; fault < 3; fault += 1) log.failNext('offsets');
    await run(log);
    await request(log.writer(), tasks(3));
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].map((events) => events.length)).toEqual([5, 5, 5]);
    });
  });

  it('ends with the error when an event is refused for good', async () => {
    const log = new MemoryLog();
    const refusal = new PlatformError('RECORD_TOO_LARGE', 'writing TurnRecorded: too large');
    const writer: EventWriter = { append: () => Promise.reject(refusal), close: async () => undefined };
    const test = await run(log, { writer });
    await request(log.writer(), tasks(1));
    await expect(test.worker.finished).rejects.toBe(refusal);
    expect(test.statuses.some(({ state, detail }) => state === 'failed' && detail.includes('too large'))).toBe(true);
  });
});
