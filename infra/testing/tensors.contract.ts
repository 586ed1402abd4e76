// The contract of every tensor backend, so that a run can continue on another one: the same initial bytes, the same logits, learning,
// determinism, restoring, finite results. All backends that load in one process are tested.
import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type {
  Architecture,
  Checkpoint,
  Learner,
  Scorer,
  TrainingBatch,
  TrainingTrajectory,
  TrainingTurn,
} from '../../streams/core/learning.ts';
import { loadBackend, type Backend, type BackendName } from '../tfjs/backend.ts';
import { packBatch } from '../tfjs/decisions.ts';
import { evaluate, gradientOf } from '../tfjs/descend.ts';
import { hyperOf } from '../tfjs/hyper.ts';
import { createLearner } from '../tfjs/learner.ts';
import { proximalTerm } from '../tfjs/losses.ts';
import { initialWeights } from '../tfjs/network.ts';
import { createScorerFactory } from '../tfjs/scorer.ts';
import { createUpdater } from '../tfjs/updater.ts';
import { seeded, type Random } from './events.ts';

const architecture: Architecture = { format: 'mlp-f32-v1', inputs: 6, hidden: [16, 8] };

const featureBytes = (values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const uniform = (random: Random): number => 2 * random() - 1;

function turnOf(random: Random, candidates: number): TrainingTurn {
  const features = featureBytes(Array.from({ length: candidates * architecture.inputs }, () => uniform(random)));
  const chosen = Math.floor(random() * candidates);
  return { features, candidates, width: architecture.inputs, chosen, logprob: -Math.log(candidates), version: 0, reward: 0 };
}

/** Trajectories of different lengths with decisions of different sizes. */
function batchOf(seed: number, { trajectories = 12, step = 1 } = {}): TrainingBatch {
  const random = seeded(seed);
  const rows = Array.from({ length: trajectories }, (_, i): TrainingTrajectory => {
    const turns = Array.from({ length: 1 + (i % 5) }, () => turnOf(random, 1 + Math.floor(random() * 30)));
    return { trajectoryId: `t${i}`, reward: random(), advantage: uniform(random), turns };
  });
  return { step, trajectories: rows };
}

const weightsOf = (checkpoint: Checkpoint): { version: number; architecture: Architecture; bytes: Buffer } => ({
  version: 0,
  architecture,
  bytes: checkpoint.weights,
});

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

/** The contract of the learner and the scorer of one backend. */
export function tensorContract(name: BackendName): void {
  describe(`learner on ${name}`, { timeout: 60_000 }, () => {
    learnerSuite(name);
    finiteSuite(name);
  });
  describe(`scorer on ${name}`, { timeout: 60_000 }, () => {
    scorerSuite(name);
  });
}

function learnerSuite(name: BackendName): void {
  const open = learners(name);

  it('trains the same bytes from the same checkpoint, in every thread, again and again', async () => {
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

const CANDIDATES = 5;

/** A bandit whose best candidate has the largest first feature; returns the success rates of the first and last rounds. */
async function playBandit(
  name: BackendName,
  { algorithm, learningRate }: { readonly algorithm: 'grpo' | 'reinforce'; readonly learningRate: number },
): Promise<{ readonly first: number; readonly last: number }> {
  const backend = await loadBackend(name);
  const updater = createUpdater({ backend, architecture, hyper: hyperOf(algorithm, learningRate) });
  const factory = createScorerFactory(backend);
  const random = seeded(11);
  let checkpoint = updater.initial(5);
  const success: number[] = [];
  for (let step = 1; step <= 45; step += 1) {
    const scorer = factory.load(weightsOf(checkpoint));
    const rounds = await Promise.all(Array.from({ length: 64 }, () => playRound(scorer, random)));
    scorer.dispose();
    const mean = rounds.reduce((sum, round) => sum + round.reward, 0) / rounds.length;
    success.push(mean);
    const packed = packBatch(
      {
        step,
        trajectories: rounds.map((turn, i) => ({
          trajectoryId: `${i}`,
          reward: turn.reward,
          advantage: turn.reward - mean,
          turns: [turn],
        })),
      },
      architecture.inputs,
      ({ reward, advantage }) => [algorithm === 'grpo' ? advantage : reward],
    );
    checkpoint = updater.train(packed);
  }
  const average = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return { first: average(success.slice(0, 5)), last: average(success.slice(-5)) };
}

async function playRound(scorer: Scorer, random: Random): Promise<TrainingTurn> {
  const features = Float32Array.from({ length: CANDIDATES * architecture.inputs }, () => uniform(random));
  const draw = random();
  const logits = await scorer.score(features, CANDIDATES);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  const probabilities = Array.from(logits, (logit) => Math.exp(logit) / total);
  let rest = draw;
  const found = probabilities.findIndex((probability) => (rest -= probability) < 0);
  const chosen = found < 0 ? CANDIDATES - 1 : found;
  const quality = Array.from({ length: CANDIDATES }, (_, i) => features[i * architecture.inputs]!);
  return {
    features: Buffer.from(features.buffer),
    candidates: CANDIDATES,
    width: architecture.inputs,
    chosen,
    logprob: Math.log(probabilities[chosen]!),
    version: 0,
    reward: quality[chosen] === Math.max(...quality) ? 1 : 0,
  };
}

const wild = fc.oneof(
  fc.double({ min: -3, max: 3, noNaN: true }),
  fc.constantFrom(NaN, Infinity, -Infinity, 0, 1e300, -1e300, 1e38, -1e38, 1e-300),
);
const wildTurn = fc.integer({ min: 0, max: 4 }).chain((candidates) =>
  fc.record({
    features: fc
      .array(wild, { minLength: candidates * architecture.inputs, maxLength: candidates * architecture.inputs })
      .map(featureBytes),
    candidates: fc.oneof(
      { weight: 9, arbitrary: fc.constant(candidates) },
      { weight: 1, arbitrary: fc.constantFrom(-1, 0, 2.5, NaN, 1e9) },
    ),
    width: fc.oneof({ weight: 9, arbitrary: fc.constant(architecture.inputs) }, { weight: 1, arbitrary: fc.constantFrom(0, 5, NaN) }),
    chosen: fc.oneof({ weight: 9, arbitrary: fc.nat(Math.max(0, candidates - 1)) }, { weight: 1, arbitrary: fc.constantFrom(-1, 7, NaN) }),
    logprob: wild,
    version: fc.constantFrom(-1, 0, 5),
    reward: wild,
  }),
);
const calmTurn = fc
  .record({ seed: fc.integer(), candidates: fc.integer({ min: 1, max: 4 }), logprob: wild })
  .map(({ seed, candidates, logprob }) => ({
    ...turnOf(seeded(seed), candidates),
    logprob,
  }));
const wildBatch = fc.record({
  step: fc.integer({ min: 1, max: 1000 }),
  trajectories: fc.array(
    fc.record({
      trajectoryId: fc.string(),
      reward: wild,
      advantage: wild,
      turns: fc.array(fc.oneof(wildTurn, calmTurn), { maxLength: 4 }),
    }),
    { maxLength: 5 },
  ),
});

function finiteSuite(name: BackendName): void {
  it.each(['grpo', 'reinforce'] as const)('gives finite figures and weights for any batch (%s)', async (algorithm) => {
    const backend = await loadBackend(name);
    const updater = createUpdater({
      backend,
      architecture,
      hyper: hyperOf(algorithm, 0.1, { entropyBonus: 0.01, minibatches: 2, replaySample: 8 }),
    });
    fc.assert(
      fc.property(wildBatch, (batch) => {
        updater.initial(1);
        const packed = packBatch(batch, architecture.inputs, ({ turns, advantage, reward }) =>
          turns.map((turn) => (algorithm === 'grpo' ? advantage : reward + turn.reward)),
        );
        const { metrics, weights } = updater.train(packed);
        expect(Object.entries(metrics).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
        expect(metrics.approx_kl).toBeGreaterThanOrEqual(0);
        expect(metrics.behave_kl).toBeGreaterThanOrEqual(0);
        expect(metrics.ess).toBeLessThanOrEqual(packed.decisions.chosen.length + 1e-6);
        expect(new Float32Array(new Uint8Array(weights).buffer).every(Number.isFinite)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
}

function scorerSuite(name: BackendName): void {
  const load = async (seed = 3): Promise<{ backend: Backend; scorer: Scorer }> => {
    const backend = await loadBackend(name);
    const checkpoint = createUpdater({ backend, architecture, hyper: hyperOf('grpo', 0.01) }).initial(seed);
    return { backend, scorer: createScorerFactory(backend).load(weightsOf(checkpoint)) };
  };
  const features = (seed: number, candidates: number): Float32Array => {
    const random = seeded(seed);
    return Float32Array.from({ length: candidates * architecture.inputs }, () => uniform(random));
  };

  it('says which backend it computes on', async () => {
    expect(createScorerFactory(await loadBackend(name)).backend).toBe(name);
  });

  it('answers each of many calls of one tick as if it were alone', async () => {
    const { scorer } = await load();
    const sizes = [1, 25, 0, 3, 20_000, 7];
    const together = await Promise.all(sizes.map((size, i) => scorer.score(features(i, size), size)));
    for (const [i, size] of sizes.entries()) {
      const alone = await scorer.score(features(i, size), size);
      expect(together[i]).toHaveLength(size);
      expect(largestGap(together[i]!, alone)).toBeLessThan(1e-6);
    }
    scorer.dispose();
  });

  it('refuses features that do not fit', async () => {
    const { scorer } = await load();
    await expect(scorer.score(new Float32Array(5), 1)).rejects.toThrow('expected 1 x 6 features, got 5');
    scorer.dispose();
  });

  it('answers pending calls when it is disposed of, then frees everything and refuses', async () => {
    const backend = await loadBackend(name);
    backend.compute(() => undefined);
    const before = tf.memory().numTensors;
    const { scorer } = await load();
    const pending = scorer.score(features(1, 4), 4);
    scorer.dispose();
    scorer.dispose();
    await expect(scorer.score(features(1, 4), 4)).rejects.toThrow('disposed');
    expect(await pending).toHaveLength(4);
    const idle = await load();
    idle.scorer.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });
}

/** Maximum difference between two arrays of the same length. */
function largestGap(a: Float32Array, b: Float32Array): number {
  return a.reduce((gap, value, i) => Math.max(gap, Math.abs(value - b[i]!)), 0);
}

/** The contract between backends: weights made on one are used on the others. */
export function exchangeContract(names: readonly BackendName[]): void {
  const logitsOn = async (name: BackendName, checkpoint: Checkpoint): Promise<Float32Array> => {
    const scorer = createScorerFactory(await loadBackend(name)).load(weightsOf(checkpoint));
    const random = seeded(99);
    const logits = await scorer.score(
      Float32Array.from({ length: 50 * architecture.inputs }, () => uniform(random)),
      50,
    );
    scorer.dispose();
    return logits;
  };

  describe(`weights between ${names.join(', ')}`, { timeout: 60_000 }, () => {
    const open = new Map<BackendName, Learner>();
    const learnerOn = async (name: BackendName): Promise<Learner> => {
      const learner = open.get(name) ?? (await createLearner({ architecture, algorithm: 'grpo', learningRate: 0.01, backend: name }));
      open.set(name, learner);
      return learner;
    };
    afterAll(async () => {
      for (const learner of open.values()) await learner.close();
    });

    it('start with the same bytes for the same seed', async () => {
      const bytes = await Promise.all(names.map(async (name) => (await (await learnerOn(name)).initial(42)).weights));
      for (const other of bytes) expect(other.equals(bytes[0]!)).toBe(true);
      const another = await (await learnerOn(names[0]!)).initial(43);
      expect(another.weights.equals(bytes[0]!)).toBe(false);
    });

    it('give the same logits within 1e-4 after training on each, and each goes on training with them', async () => {
      for (const trainer of names) {
        const learner = await learnerOn(trainer);
        await learner.initial(1);
        let trained: Checkpoint | undefined;
        for (let step = 1; step <= 5; step += 1) trained = await learner.train(batchOf(step, { step }));
        const reference = await logitsOn('cpu', trained!);
        for (const user of names) {
          expect(largestGap(await logitsOn(user, trained!), reference)).toBeLessThan(1e-4);
          const other = await learnerOn(user);
          await other.restore(trained!);
          const next = await other.train(batchOf(6, { step: 6 }));
          expect(next.weights.byteLength).toBe(trained!.weights.byteLength);
        }
      }
    });
  });
}
