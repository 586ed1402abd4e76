import { describe, expect, it } from 'vitest';
import { adamStep, adamToBytes, freshAdam, parseAdam } from './adam.ts';

const options = { learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 };

describe('adam', () => {
  it('moves by the learning rate against the sign of the first gradient', () => {
    const { weights, state } = adamStep({ weights: Float32Array.of(1, 1, 1), state: freshAdam(3) }, Float32Array.of(5, -0.01, 0), options);
    expect(weights[0]).toBeCloseTo(0.9, 6);
    expect(weights[1]).toBeCloseTo(1.1, 5);
    expect(weights[2]).toBe(1);
    expect(state.steps).toBe(1);
    expect(state.mean[0]).toBeCloseTo(0.5, 6);
    expect(state.variance[0]).toBeCloseTo(0.025, 6);
  });

  it('finds the minimum of a parabola', () => {
    let current: ReturnType<typeof adamStep> = { weights: Float32Array.of(3), state: freshAdam(1) };
    for (let i = 0; i < 400; i += 1) current = adamStep(current, Float32Array.of(2 * (current.weights[0]! + 1)), options);
    expect(current.weights[0]).toBeCloseTo(-1, 2);
  });

  it('decouples weight decay from the gradient', () => {
    const { weights } = adamStep({ weights: Float32Array.of(2), state: freshAdam(1) }, Float32Array.of(0), {
      ...options,
      weightDecay: 0.5,
    });
    expect(weights[0]).toBeCloseTo(2 - 0.1 * 0.5 * 2, 6);
  });

  it('has no bytes before its first step, and the same state after a round trip', () => {
    expect(adamToBytes(freshAdam(2))).toHaveLength(0);
    expect(parseAdam(Buffer.alloc(0), 2)).toEqual(freshAdam(2));
    const { state } = adamStep({ weights: Float32Array.of(1, 2), state: freshAdam(2) }, Float32Array.of(0.3, -7), options);
    expect(parseAdam(adamToBytes(state), 2)).toEqual(state);
    expect(adamToBytes(state)).toHaveLength(8 + 2 * 2 * 4);
  });

  it('refuses bytes of another shape and damaged ones', () => {
    const { state } = adamStep({ weights: Float32Array.of(1, 2), state: freshAdam(2) }, Float32Array.of(0.3, -7), options);
    const bytes = adamToBytes(state);
    expect(() => parseAdam(bytes, 3)).toThrow('expected 32 bytes, got 24');
    const damaged = Buffer.from(bytes);
    damaged.writeFloatLE(NaN, 8);
    expect(() => parseAdam(damaged, 2)).toThrow('damaged');
    const negative = Buffer.from(bytes);
    negative.writeDoubleLE(-1);
    expect(() => parseAdam(negative, 2)).toThrow('damaged');
  });
});
