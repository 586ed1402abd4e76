// The contract of the learner of every tensor backend.
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, expect, it } from 'vitest';
import type { Checkpoint, Learner, TrainingTrajectory } from '../../streams/core/learning.ts';
import { loadBackend, type BackendName } from '../tfjs/backend.ts';
import { packBatch } from '../tfjs/decisions.ts';
import { evaluate, gradientOf } from '../tfjs/descend.ts';
import { hyperOf } from '../tfjs/hyper.ts';
import { createLearner } from '../tfjs/learner.ts';
import { proximalTerm } from '../tfjs/losses.ts';
import { initialWeights } from '../tfjs/network.ts';
import { createUpdater } from '../tfjs/updater.ts';
import { architecture, batchOf } from './tensor-batches.ts';
import { playBandit } from './bandit.ts';

/** Starts learners that are closed after the suite. */
function learners(backend: BackendName) {
  const open: Learner[] = [];
  afterAll(async () => {
    await Promise.all(open.map((learner) => learner.close()));
  });
  return async (algorithm: 'grpo' | 'reinforce'): Promise<Learner> => {
    const hyper = { minibatches: 3, replayCapacity: 40, replaySample: 16 };
    const learner = await createLearner({ architecture, algorithm, learningRate: 0.01, backend, hyper });
    open.push(learner);
    return learner;
  };
}

export function learnerSuite(name: BackendName): void {
  const open = learners(name);

  it('produces the same bytes from the same checkpoint, in every thread, again and again', async () => {
    const learner = await open('grpo');
    expect(learner.backend).toBe(name);
    await expect(learner.train(batchOf(1))).rejects.toThrow('training step 1');
    const start = await learner.initial(7);
    expect(start.optimizer.byteLength).toBe(0);
    const batch = batchOf(1, { trajectories: 400 });
    const first = await learner.train(batch);
    expect(first.weights.equals(start.weights)).toBe(false);
    for (let repeat = 0; repeat < 3; repeat += 1) {
      await learner.restore(start);
      expect(await learner.train(batch)).toEqual({ ...first, trainMs: expect.any(Number) as number });
    }

    const steps: Checkpoint[] = [first];
    for (let step = 2; step <= 6; step += 1) steps.push(await learner.train(batchOf(step, { step })));
    const other = await open('grpo');
    await other.restore(steps[2]!);
    let resumed: Checkpoint | undefined;
    for (let step = 4; step <= 6; step += 1) resumed = await other.train(batchOf(step, { step }));
    expect(resumed!.weights.equals(steps[5]!.weights)).toBe(true);
    expect(resumed!.optimizer.equals(steps[5]!.optimizer)).toBe(true);
  });

  it('replays the same decisions for the same seed and batches with REINFORCE', async () => {
    const learner = await open('reinforce');
    const runs: Checkpoint[] = [];
    for (let run = 0; run < 2; run += 1) {
      await learner.initial(2);
      await learner.train(batchOf(1, { step: 1 }));
      runs.push(await learner.train(batchOf(2, { step: 2 })));
    }
    expect(runs[0]!.weights.equals(runs[1]!.weights)).toBe(true);
    expect(runs[0]!.optimizer.equals(runs[1]!.optimizer)).toBe(true);
  });

  it('refuses checkpoints that are not its own and stays as it was', async () => {
    const updater = createUpdater({ backend: await loadBackend(name), architecture, hyper: hyperOf('grpo', 0.01) });
    const start = updater.initial(1);
    expect(() => {
      updater.restore({ weights: start.weights.subarray(4), optimizer: Buffer.alloc(0) });
    }).toThrow('expected');
    expect(() => {
      updater.restore({ weights: start.weights, optimizer: Buffer.alloc(9) });
    }).toThrow('moments');
    const packed = packBatch(batchOf(1), architecture.inputs, (trajectory) => trajectory.turns.map(() => trajectory.advantage));
    const trained = updater.train(packed);
    updater.restore(start);
    expect(updater.train(packed).weights.equals(trained.weights)).toBe(true);
  });

  it('has the gradient that finite differences give', async () => {
    const engine = { backend: await loadBackend(name), architecture, hyper: hyperOf('grpo', 0.01, { entropyBonus: 0.05 }) };
    const advantages = (trajectory: TrainingTrajectory): number[] => trajectory.turns.map(() => trajectory.advantage);
    const { decisions } = packBatch(batchOf(4, { trajectories: 8 }), architecture.inputs, advantages);
    const weights = initialWeights(architecture, 9).map((value) => value * 1.5);
    // a separate proximal policy, so that some ratios are clipped and some are not
    const proximal = evaluate(
      engine,
      initialWeights(architecture, 10).map((value) => value * 4),
      decisions,
    ).logprobs;
    const objective = () => ({ decisions, term: proximalTerm(decisions, proximal, engine.hyper).term });
    const { gradient } = gradientOf(engine, weights, objective());
    const nudged = (index: number, by: number): number =>
      gradientOf(
        engine,
        weights.map((value, i) => (i === index ? value + by : value)),
        objective(),
      ).loss;
    const scale = Math.max(...gradient.map(Math.abs));
    for (let index = 0; index < weights.length; index += 17) {
      const slope = (nudged(index, 0.01) - nudged(index, -0.01)) / 0.02;
      expect(Math.abs(slope - gradient[index]!)).toBeLessThan(0.01 * scale);
    }
    expect(scale).toBeGreaterThan(0.001);
  });

  it('learns to choose with GRPO and with REINFORCE', async () => {
    const grpo = await playBandit(name, { algorithm: 'grpo', learningRate: 0.03 });
    const reinforce = await playBandit(name, { algorithm: 'reinforce', learningRate: 0.01 });
    expect(grpo.first).toBeLessThan(0.45);
    expect(grpo.last).toBeGreaterThan(0.8);
    expect(reinforce.last).toBeGreaterThan(0.7);
  });

  it('keeps no tensors between updates', async () => {
    const backend = await loadBackend(name);
    const updater = createUpdater({ backend, architecture, hyper: hyperOf('grpo', 0.01, { minibatches: 2 }) });
    updater.initial(1);
    const advantages = (trajectory: TrainingTrajectory): number[] => trajectory.turns.map(() => trajectory.advantage);
    const before = tf.memory().numTensors;
    for (let step = 1; step <= 5; step += 1) updater.train(packBatch(batchOf(step, { step }), architecture.inputs, advantages));
    expect(tf.memory().numTensors).toBe(before);
  });
}
