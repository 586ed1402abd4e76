import { describe, expect, it } from 'vitest';
import type { Architecture } from '../../streams/core/learning.ts';
import { fromBytes, initialWeights, parseWeights, toBytes, weightCount } from './network.ts';

const architecture: Architecture = { format: 'mlp-f32-v1', inputs: 100, hidden: [50, 20] };

describe('weights', () => {
  it('have a matrix and a bias for each layer', () => {
    expect(weightCount(architecture)).toBe(100 * 50 + 50 + 50 * 20 + 20 + 20 + 1);
    expect(weightCount({ ...architecture, hidden: [] })).toBe(101);
  });

  it('start with the variance 1/inputs, no bias, and a small output layer', () => {
    const weights = initialWeights(architecture, 1);
    const deviation = (from: number, to: number): number =>
      Math.sqrt(weights.slice(from, to).reduce((sum, value) => sum + value * value, 0) / (to - from));
    expect(deviation(0, 5000)).toBeCloseTo(0.1, 2);
    expect(deviation(5000, 5050)).toBe(0);
    expect(deviation(5050, 6050)).toBeCloseTo(1 / Math.sqrt(50), 1);
    expect(deviation(6070, 6090)).toBeLessThan(0.01);
    expect(weights[6090]).toBe(0);
  });

  it('depend only on the seed', () => {
    expect(toBytes(initialWeights(architecture, 5)).equals(toBytes(initialWeights(architecture, 5)))).toBe(true);
    expect(toBytes(initialWeights(architecture, 5)).equals(toBytes(initialWeights(architecture, 6)))).toBe(false);
  });

  it('are little-endian float32 bytes', () => {
    expect([...toBytes(Float32Array.of(1, -2))]).toEqual([0, 0, 128, 63, 0, 0, 0, 192]);
    const odd = Buffer.concat([Buffer.of(9), toBytes(Float32Array.of(0.5))]).subarray(1);
    expect([...fromBytes(odd)]).toEqual([0.5]);
  });

  it('are refused with another shape or when they are not finite', () => {
    const bytes = toBytes(initialWeights(architecture, 1));
    expect([...parseWeights(architecture, bytes)]).toEqual([...initialWeights(architecture, 1)]);
    expect(() => parseWeights({ ...architecture, inputs: 99 }, bytes)).toThrow('loading weights of a 99-50-20-1 network');
    bytes.writeFloatLE(Infinity, 40);
    expect(() => parseWeights(architecture, bytes)).toThrow('not finite');
  });
});
