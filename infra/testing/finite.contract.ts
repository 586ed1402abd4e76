// Whatever a batch holds, an update gives finite numbers, on every tensor backend.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { loadBackend, type BackendName } from '../tfjs/backend.ts';
import { packBatch } from '../tfjs/decisions.ts';
import { hyperOf } from '../tfjs/hyper.ts';
import { createUpdater } from '../tfjs/updater.ts';
import { seeded } from './events.ts';
import { architecture, featureBytes, turnOf } from './tensor-batches.ts';

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

export function finiteSuite(name: BackendName): void {
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
