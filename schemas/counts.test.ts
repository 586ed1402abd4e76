// Negative counts, in each field of an event that holds a count and in policy spans.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countCheckOf, COUNTS } from './counts.ts';

const names = [...COUNTS];

describe('a check of counts', () => {
  it('refuses an event with a negative count, whichever it is, and accepts all others', () => {
    const counts = fc.record(Object.fromEntries(names.map((name) => [name, fc.integer({ min: -2, max: 5 })])), { requiredKeys: [] });
    fc.assert(
      fc.property(counts, (event) => {
        const check = () => {
          countCheckOf([...names, 'reward'])({ ...event, reward: -1 });
        };
        const negative = names.find((name) => (event[name] ?? 0) < 0);
        if (negative === undefined) expect(check).not.toThrow();
        else expect(check).toThrow(`${negative} is ${event[negative]}`);
      }),
    );
  });

  it('takes -1, and nothing below, for a count that may not have been recorded', () => {
    const check = (tokens: number) => () => {
      countCheckOf(['prompt_tokens'], new Set(['prompt_tokens']))({ prompt_tokens: tokens });
    };
    expect(check(-1)).not.toThrow();
    expect(check(-2)).toThrow(RangeError);
  });

  it('checks the policy spans, and takes an event that has none', () => {
    const check = countCheckOf(['policy_spans']);
    check({});
    check({ policy_spans: [{ tokens: 0 }, { tokens: 7 }] });
    expect(() => {
      check({ policy_spans: [{ tokens: 1 }, { tokens: -1 }] });
    }).toThrow(RangeError);
  });
});
