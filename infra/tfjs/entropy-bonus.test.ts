import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freshAdam } from './adam.ts';
import { loadBackend } from './backend.ts';
import { entropyBonusAt, MAX_FACTOR } from './entropy-bonus.ts';
import { updateProximal } from './grpo.ts';
import { hyperFrom, hyperOf, type Hyper } from './hyper.ts';

const entropies = fc.double({ min: 0, max: 10, noNaN: true });

describe('the entropy bonus', () => {
  it('stays what it is without a target, and at or above it', () => {
    fc.assert(
      fc.property(entropies, (entropy) => {
        expect(entropyBonusAt(entropy, { entropyBonus: 0.2, entropyTarget: 0 })).toBe(0.2);
        expect(entropyBonusAt(1 + entropy, { entropyBonus: 0.2, entropyTarget: 1 })).toBe(0.2);
      }),
    );
  });

  it('grows as the entropy falls below the target, and stays finite', () => {
    const at = (entropy: number): number => entropyBonusAt(entropy, { entropyBonus: 0.2, entropyTarget: 1 });
    expect(at(0.5)).toBeCloseTo(0.4);
    expect(at(0.2)).toBeCloseTo(1);
    expect([at(0), at(-1e-12)]).toEqual([0.2 * MAX_FACTOR, 0.2 * MAX_FACTOR]);
    expect(at(NaN)).toBe(0.2);
    fc.assert(
      fc.property(entropies, entropies, (one, other) => {
        expect(at(Math.min(one, other))).toBeGreaterThanOrEqual(at(Math.max(one, other)));
      }),
    );
  });

  it('is recorded, and off in runs that did not record it', () => {
    expect(hyperFrom({ algorithm: 'grpo', entropyBonus: 0.2 }).entropyTarget).toBe(0);
    expect(hyperFrom({ ...hyperOf('grpo', 0, { entropyTarget: 0.7 }) }).entropyTarget).toBe(0.7);
  });

  it('is the only difference that the target makes to an update', async () => {
    const engine = { backend: await loadBackend('cpu'), architecture: { format: 'mlp-f32-v1', inputs: 1, hidden: [] } as const };
    const decisions = {
      width: 1,
      features: Float32Array.of(1, 0),
      starts: Int32Array.of(0, 2),
      chosen: Int32Array.of(0),
      logprobs: Float64Array.of(Math.log(0.88)),
      signals: Float64Array.of(0.5),
    };
    const before = { weights: Float32Array.of(2, 0), adam: freshAdam(2) };
    const update = (changes: Partial<Hyper>) => updateProximal({ ...engine, hyper: hyperOf('grpo', 0.01, changes) }, before, decisions);
    const plain = update({ entropyBonus: 0.2 });
    const { entropy } = plain.metrics;
    expect(entropy).toBeLessThan(0.4);
    expect(update({ entropyBonus: 0.2, entropyTarget: entropy })).toEqual(plain);
    const held = update({ entropyBonus: 0.2, entropyTarget: 4 * entropy });
    expect(held).toEqual(update({ entropyBonus: entropyBonusAt(entropy, { entropyBonus: 0.2, entropyTarget: 4 * entropy }) }));
    expect(held.state.weights[0]).toBeLessThan(plain.state.weights[0]!);
  });
});
