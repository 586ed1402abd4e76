import fc from 'fast-check';
import { expect, it } from 'vitest';
import { groupBy } from './group-by.ts';

it('has every item once, under its key, in the order in which keys and items come', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000)), fc.integer({ min: 1, max: 10 }), (items, keys) => {
      const keyOf = (item: number): number => item % keys;
      const groups = groupBy(items, keyOf);
      expect([...groups.keys()]).toEqual([...new Set(items.map(keyOf))]);
      for (const [key, group] of groups) expect(group).toEqual(items.filter((item) => keyOf(item) === key));
    }),
  );
});
