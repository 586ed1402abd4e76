import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createEngine } from './engine.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const never = new AbortController().signal;

/** When each generation ended, ms after the first began; later ones have a start. */
async function ends(load: number, generations: readonly { readonly ms: number; readonly start?: number }[]): Promise<readonly number[]> {
  const engine = createEngine(load);
  const began = performance.now();
  const all = generations.map(async ({ ms, start = 0 }) => {
    await new Promise((resolve) => setTimeout(resolve, start));
    await engine(ms, never);
    return performance.now() - began;
  });
  await vi.runAllTimersAsync();
  return Promise.all(all);
}

const about = (found: readonly number[], wanted: readonly number[]): void => {
  expect(found).toHaveLength(wanted.length);
  found.forEach((value, at) => {
    expect(Math.abs(value - wanted[at]!), `${found.join(' ')} against ${wanted.join(' ')}`).toBeLessThan(10);
  });
};

describe('an engine under load', () => {
  it('runs a single generation at full speed, and each of them at half speed beside `load` others', async () => {
    about(await ends(4, [{ ms: 1_000 }]), [1_000]);
    const five = Array.from({ length: 5 }, () => ({ ms: 1_000 }));
    about(
      await ends(4, five),
      five.map(() => 2_000),
    );
  });

  it('speeds up for those that are left: the straggler of a batch has the engine to itself', async () => {
    // both run at half speed for 2 s, then the second has 1 s left
    about(await ends(1, [{ ms: 1_000 }, { ms: 2_000 }]), [2_000, 3_000]);
  });

  it('slows down as soon as others begin', async () => {
    about(await ends(1, [{ ms: 1_000 }, { ms: 1_000, start: 500 }]), [1_500, 2_000]);
  });

  it('speeds up for the others when one is abandoned', async () => {
    const engine = createEngine(1);
    const stop = new AbortController();
    const given = engine(10_000, stop.signal);
    const other = engine(1_000, never).then(() => performance.now());
    const began = performance.now();
    setTimeout(() => {
      stop.abort();
    }, 500);
    await vi.runAllTimersAsync();
    await given;
    about([(await other) - began], [1_250]);
    await engine(1e9, AbortSignal.abort());
  });

  it('does as much work as generations need, in any pattern', async () => {
    const generation = fc.record({ ms: fc.integer({ min: 50, max: 2_000 }), start: fc.integer({ min: 0, max: 2_000 }) });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 8 }), fc.array(generation, { minLength: 1, maxLength: 8 }), async (load, all) => {
        const found = await ends(load, all);
        const slowest = 1 + (all.length - 1) / load;
        all.forEach(({ ms, start }, at) => {
          expect(found[at]!).toBeGreaterThan(start + ms - 10);
          expect(found[at]!).toBeLessThan(start + ms * slowest + 10 * all.length);
        });
      }),
      { numRuns: 40 },
    );
  });
});
