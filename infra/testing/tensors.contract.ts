// The contract of every tensor backend, so that a run can continue on another one: the same initial bytes, the same logits, learning,
// determinism, restoring, finite results. All backends that load in one process are tested.
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, describe, expect, it } from 'vitest';
import type { Checkpoint, Learner, Scorer } from '../../streams/core/learning.ts';
import { loadBackend, type Backend, type BackendName } from '../tfjs/backend.ts';
import { hyperOf } from '../tfjs/hyper.ts';
import { createLearner } from '../tfjs/learner.ts';
import { createScorerFactory } from '../tfjs/scorer.ts';
import { createUpdater } from '../tfjs/updater.ts';
import { seeded } from './events.ts';
import { learnerSuite } from './learner.contract.ts';
import { finiteSuite } from './finite.contract.ts';
import { architecture, weightsOf, uniform, batchOf } from './tensor-batches.ts';

/** The contract of the learner and the scorer of one backend. */
export function tensorContract(name: BackendName): void {
  describe(`learner on ${name}`, () => {
    learnerSuite(name);
    finiteSuite(name);
  });
  describe(`scorer on ${name}`, () => {
    scorerSuite(name);
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

  it('reports its backend', async () => {
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

  it('answers pending calls when it is disposed of, then frees all tensors and rejects calls', async () => {
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

  describe(`weights between ${names.join(', ')}`, () => {
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

    it('give the same logits within 1e-4 after training on each, and each continues training with them', async () => {
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
