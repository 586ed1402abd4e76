import { describe, expect, it } from 'vitest';
import { loadBackend } from './backend.ts';
import { joined, type Decisions } from './decisions.ts';
import { descend, evaluate } from './descend.ts';
import { freshAdam } from './adam.ts';
import { hyperFrom, hyperOf, type Hyper } from './hyper.ts';
import { numberAt } from './number-at.ts';
import { updateReplayed } from './reinforce.ts';
import { createReplay, type ReplayBuffer } from './replay-buffer.ts';
import { createScorerFactory } from './scorer.ts';
import { toBytes } from './network.ts';

const architecture = { format: 'mlp-f32-v1', inputs: 1, hidden: [] } as const;
const one = (signal: number): Decisions => ({
  width: 1,
  features: Float32Array.of(1, 0),
  starts: Int32Array.of(0, 2),
  chosen: Int32Array.of(0),
  logprobs: Float64Array.of(Math.log(0.5)),
  signals: Float64Array.of(signal),
});
const backend = await loadBackend('cpu');
const start = { weights: new Float32Array(2), adam: freshAdam(2) };
const step = (slope: number, changes: Partial<Hyper> = {}) =>
  descend({ backend, architecture, hyper: hyperOf('grpo', 0.1, changes) }, start, {
    decisions: one(1),
    term: () => ({ loss: slope, slope }),
  });

describe('descend', () => {
  it('descends the gradient and reports its norm before clipping', () => {
    const free = step(-4, { maxGradNorm: 100 });
    expect(free.norm).toBeCloseTo(2, 6);
    expect(free.state.adam.mean[0]).toBeCloseTo(-0.2, 6);
    expect(free.state.weights[0]).toBeCloseTo(0.1, 5);
    const held = step(-4, { maxGradNorm: 1 });
    expect(held.norm).toBeCloseTo(2, 6);
    expect(held.state.adam.mean[0]).toBeCloseTo(-0.1, 6);
  });

  it('changes nothing when the gradient or the step is not finite', () => {
    expect(step(Infinity)).toMatchObject({ state: start, norm: 0 });
    const wild = { backend, architecture, hyper: hyperOf('grpo', 1e300) };
    expect(descend(wild, start, { decisions: one(1), term: () => ({ loss: -4, slope: -4 }) }).state).toBe(start);
  });
});

describe('an update of REINFORCE', () => {
  const hyper = hyperOf('reinforce', 0.01, { replaySteps: 1, replaySample: 400 });
  const engine = { backend, architecture, hyper };
  const decision = (index: number): Decisions => ({
    ...one((index * 7) % 5),
    features: Float32Array.of(1 + (index % 3), index % 2, ...Array.from({ length: 998 }, () => 0.001 * index)),
    starts: Int32Array.of(0, 1_000),
  });
  it('is the same for a batch in chunks as for the whole batch at once', () => {
    const decisions = joined(
      Array.from({ length: 200 }, (_, index) => decision(index)),
      1,
    );
    const trajectories = Array.from({ length: 101 }, (_, at) => 2 * at);
    const packed = { step: 1, decisions, trajectories, excluded: 0 };
    const every = createReplay({ hyper });
    let at = 0;
    // each trajectory once
    const inOrder: ReplayBuffer = {
      ...{ units: 100, bytes: 0, memoryBytes: 0, close: () => undefined },
      add(given) {
        every.add(given);
      },
      sample: () => every.sample(100, () => at++ / 100 + 1e-6),
    };
    const { state, metrics } = updateReplayed(engine, start, { packed, replay: inOrder });
    const baseline = decisions.signals.reduce((sum, signal) => sum + signal, 0) / 200;
    const start0 = evaluate(engine, start.weights, decisions).logprobs;
    const whole = descend(engine, start, {
      decisions,
      term: (index, logprob) => {
        const weight = Math.min(5, Math.exp(Math.min(20, start0[index]! - decisions.logprobs[index]!)));
        const slope = -weight * (decisions.signals[index]! - baseline);
        return { loss: slope * logprob, slope };
      },
    });
    expect(metrics.loss).toBeCloseTo(whole.loss, 6);
    expect(metrics.grad_norm).toBeCloseTo(whole.norm, 5);
    state.weights.forEach((weight, i) => {
      expect(weight).toBeCloseTo(whole.state.weights[i]!, 6);
    });
  });

  it('makes one optimizer step per batch', () => {
    const packed = { step: 1, decisions: one(1), trajectories: [0, 1], excluded: 0 };
    const several = { ...engine, hyper: { ...hyper, replaySteps: 10 } };
    expect(updateReplayed(several, start, { packed, replay: createReplay({ hyper }) }).state.adam.steps).toBe(10);
  });

  it('replays single decisions in runs that did not record replayTrajectories', () => {
    const { replayTrajectories, replayBytes } = hyperFrom({ algorithm: 'reinforce', replaySample: 512 });
    expect([replayTrajectories, replayBytes]).toEqual([0, 0]);
    expect(hyperFrom({ ...hyperOf('reinforce', 0) })).toEqual(hyperOf('reinforce', 0));
  });

  it('continues runs with a removed setting only if it was off', () => {
    expect(hyperFrom({ ...hyperOf('grpo', 0), entropyTarget: 0 })).toEqual(hyperOf('grpo', 0));
    expect(() => hyperFrom({ ...hyperOf('grpo', 0), entropyTarget: 0.5 })).toThrow(/entropyTarget of 0.5/);
  });
});

describe('a scorer whose backend fails', () => {
  it('rejects every call of the tick, and answers the next', async () => {
    let broken = false;
    const flaky = {
      ...backend,
      compute: <T>(work: () => T): T => {
        if (broken) throw new Error('out of memory');
        return backend.compute(work);
      },
    };
    const scorer = createScorerFactory(flaky).load({ version: 0, architecture, bytes: toBytes(Float32Array.of(2, 1)) });
    broken = true;
    const calls = await Promise.allSettled([scorer.score(Float32Array.of(1), 1), scorer.score(Float32Array.of(2), 1)]);
    expect(calls.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    broken = false;
    expect([...(await scorer.score(Float32Array.of(1, 3), 2))]).toEqual([3, 7]);
    scorer.dispose();
  });
});

describe('numberAt', () => {
  it('throws when an index is outside the array', () => {
    expect(numberAt(Int32Array.of(4), 0)).toBe(4);
    expect(() => numberAt(new Float32Array(2), 2)).toThrow('reading number 2 of 2');
  });
});
