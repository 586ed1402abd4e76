import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Learner } from '../../../streams/core/learning.ts';
import { loadConfig } from '../../config/load.ts';
import { silentLogger as logger } from '../../testing/logger.ts';
import { policyOf, policyTurn } from '../../testing/scripted-agents.ts';
import { actingAs, learningAs } from './latency.ts';

const metrics = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };
const checkpoint = { weights: Buffer.alloc(0), optimizer: Buffer.alloc(0) };
const learner: Learner = {
  backend: 'cpu',
  initial: async () => checkpoint,
  restore: async () => undefined,
  train: async () => ({ ...checkpoint, metrics, trainMs: 3 }),
  close: async () => undefined,
};
const batch = { step: 1, trajectories: [] };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the latency model of a trainer', () => {
  it('changes nothing unless the model and a time are configured', () => {
    expect(learningAs({ config: loadConfig({}, { latencyTrainMs: 50 }), logger }, learner)).toBe(learner);
    expect(learningAs({ config: loadConfig({}, { latencyModel: 'log-normal' }), logger }, learner)).toBe(learner);
  });

  it('makes a step take the configured time, or its own time if that is longer', async () => {
    const config = loadConfig({}, { latencyModel: 'log-normal', latencyTrainMs: 50 });
    const slow = learningAs({ config, logger }, learner);
    const step = slow.train(batch);
    const began = performance.now();
    await vi.runAllTimersAsync();
    expect((await step).trainMs).toBe(50);
    expect(performance.now() - began).toBeGreaterThanOrEqual(49);
    const long = learningAs({ config, logger }, { ...learner, train: async () => ({ ...checkpoint, metrics, trainMs: 70 }) }).train(batch);
    await vi.runAllTimersAsync();
    expect((await long).trainMs).toBe(70);
  });
});

describe('the latency model of a worker', () => {
  const policy = policyOf(() => policyTurn({ tool: 'answer', answer: 'a' }));
  const { signal } = new AbortController();
  const took = async (load: number): Promise<number> => {
    const config = loadConfig({}, { latencyModel: 'log-normal', latencySigma: 0, latencyGenerationMs: 100, latencyLoad: load });
    const acting = actingAs({ config, logger }, policy, []);
    expect(acting.mark).toBe('-latency-model');
    const began = performance.now();
    const turns = [1, 2, 3].map(() =>
      acting.policy.decide(
        { question: 'q', turn: 0, maxTurns: 8, history: [] },
        { decoding: 'sample', random: () => 0.5, version: -1, signal },
      ),
    );
    await vi.runAllTimersAsync();
    await Promise.all(turns);
    return performance.now() - began;
  };

  it('makes concurrent generations slow each other down if a load is configured', async () => {
    expect(Math.abs((await took(0)) - 100)).toBeLessThan(5);
    expect(Math.abs((await took(2)) - 200)).toBeLessThan(5);
  });
});
