import { createHash } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import type { PolicyTurn } from '../../../streams/core/agents.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { policyOf, policyTurn, searchThenAnswer, toolResult, toolsOf } from '../../../infra/testing/scripted-agents.ts';
import { endOf, request, rolloutsOf } from '../../../infra/testing/worker-harness.ts';
import { eventually, run, setUpWorker, tasks } from './worker.testing.ts';

setUpWorker();

describe('how the attempts of a worker end', () => {
  it('records a tool result of 100 MB with its full length and hash, cut to what a record takes', async () => {
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

  it('ends training attempts that request a version at once when a newer one is out, and no others', async () => {
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

  it('gives up an attempt whose policy hangs past the wall-clock limit, and reuses its slot', async () => {
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

  it('replaces invalid numbers from a policy by numbers that an event can carry', async () => {
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
