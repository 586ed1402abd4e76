import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom, deriveSeed, shuffled } from './random.ts';

const draw = (random: () => number, count: number): number[] => Array.from({ length: count }, random);

describe('createRandom', () => {
  it('repeats itself for the same seed and stream', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.nat(), (seed, stream) => {
        expect(draw(createRandom(seed, stream), 20)).toEqual(draw(createRandom(seed, stream), 20));
      }),
    );
  });

  it('stays in [0, 1)', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (seed) => {
        expect(draw(createRandom(seed), 100).every((value) => value >= 0 && value < 1)).toBe(true);
      }),
    );
  });

  it('differs between streams and between neighboring seeds, high bits included', () => {
    const first = draw(createRandom(7), 8);
    expect(draw(createRandom(7, 1), 8)).not.toEqual(first);
    expect(draw(createRandom(8), 8)).not.toEqual(first);
    expect(draw(createRandom(7 + 2 ** 40), 8)).not.toEqual(first);
  });

  it('is uniform: mean, variance and ten equal bins', () => {
    const values = draw(createRandom(20_261_121), 100_000);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.005);
    expect(Math.abs(variance - 1 / 12)).toBeLessThan(0.002);
    const bins = Array.from({ length: 10 }, () => 0);
    for (const value of values) bins[Math.floor(value * 10)]! += 1;
    for (const bin of bins) expect(Math.abs(bin - 10_000)).toBeLessThan(500);
  });

  it('gives consecutive streams different first numbers with a mean of 1/2', () => {
    const firsts = Array.from({ length: 10_000 }, (_, stream) => createRandom(3, stream)());
    const mean = firsts.reduce((sum, value) => sum + value, 0) / firsts.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.02);
    expect(new Set(firsts).size).toBe(firsts.length);
  });
});

describe('deriveSeed', () => {
  it('is a non-negative safe integer that depends on text and index', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer(), (text, index) => {
        const seed = deriveSeed(text, index);
        expect(Number.isSafeInteger(seed) && seed >= 0).toBe(true);
        expect(deriveSeed(text, index)).toBe(seed);
        expect(deriveSeed(`${text}x`, index)).not.toBe(seed);
        expect(deriveSeed(text, (index + 1) | 0)).not.toBe(seed);
      }),
    );
  });
});

describe('shuffled', () => {
  it('keeps every item, and the same draws give the same order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.maxSafeInteger(), (items, seed) => {
        const order = shuffled(items, createRandom(seed));
        expect(order).toEqual(shuffled(items, createRandom(seed)));
        expect([...order].sort((a, b) => a - b)).toEqual([...items].sort((a, b) => a - b));
      }),
    );
  });

  it('puts each item at each place about equally often', () => {
    const random = createRandom(5);
    const firsts = [0, 0, 0, 0];
    for (let round = 0; round < 4_000; round += 1) firsts[shuffled([0, 1, 2, 3], random)[0]!]! += 1;
    for (const count of firsts) expect(Math.abs(count - 1_000)).toBeLessThan(120);
  });
});
