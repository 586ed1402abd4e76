import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { capacityOf } from './admission.ts';

const base = { maxConcurrent: 1_000, maxStaleness: 4, batchGroups: 128, version: 0, running: 0, accepted: 0 };

describe('admission', () => {
  it('admits what the staleness bound leaves: 640 questions at version 0 with a bound of 4 and batches of 128', () => {
    expect(capacityOf(base)).toBe(640);
    expect(capacityOf({ ...base, running: 600, accepted: 40 })).toBe(0);
    expect(capacityOf({ ...base, version: 1, running: 600, accepted: 40 })).toBe(128);
  });

  it('requests more than a batch needs when it oversamples, and less the more of it exists already', () => {
    const sync = { ...base, maxStaleness: 0, batchGroups: 8, oversample: 2.5 };
    expect(capacityOf(sync)).toBe(20);
    expect(capacityOf({ ...sync, running: 14, accepted: 5 })).toBe(0);
    expect(capacityOf({ ...sync, running: 5, accepted: 5 })).toBe(3);
    expect(capacityOf({ ...sync, accepted: 11 })).toBe(0);
  });

  it('never lets more run at once than allowed, and is never negative', () => {
    const terms = fc.record({
      maxConcurrent: fc.nat(100),
      maxStaleness: fc.nat(10),
      batchGroups: fc.integer({ min: 1, max: 20 }),
      version: fc.nat(50),
      running: fc.nat(200),
      accepted: fc.nat(2_000),
    });
    fc.assert(
      fc.property(terms, (given) => {
        const capacity = capacityOf(given);
        expect(capacity).toBeGreaterThanOrEqual(0);
        if (capacity === 0) return;
        expect(given.running + capacity).toBeLessThanOrEqual(given.maxConcurrent);
        expect(given.accepted + given.running + capacity).toBeLessThanOrEqual((given.maxStaleness + given.version + 1) * given.batchGroups);
      }),
    );
  });
});
