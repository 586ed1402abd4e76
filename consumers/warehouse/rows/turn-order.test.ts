import fc from 'fast-check';
import { expect, it } from 'vitest';
import { plainTurn } from './plain-turn.testing.ts';
import { inKeyOrder } from './turn-order.ts';

const keys = fc.array(
  fc.record({
    run_id: fc.constantFrom('a', 'b', 'ab'),
    trajectory_id: fc.constantFrom('g-1.0', 'g-1.10', 'g-1.2', 'ü', '\u{1f600}', '\uffee'),
    attempt: fc.constantFrom(0, 1, 11),
    turn: fc.constantFrom(-1, 0, 2, 10),
  }),
  { maxLength: 30 },
);
type TurnKey = readonly [run: Buffer, trajectory: Buffer, attempt: number, turn: number];

it('puts turns of any versions in the order of the bytes of their key, and those with the same key in the order of the log', () => {
  fc.assert(
    fc.property(keys, (found) => {
      const turns = found.map((key, offset) => plainTurn(key, { offset, version: offset % 3 }));
      const keyOf = (one: (typeof turns)[number]): TurnKey => {
        const { run_id, trajectory_id, attempt, turn } = one.decoded.event;
        return [Buffer.from(run_id), Buffer.from(trajectory_id), attempt, turn];
      };
      const sorted = turns
        .map((one) => ({ one, key: keyOf(one) }))
        .sort(({ key: a }, { key: b }) => Buffer.compare(a[0], b[0]) || Buffer.compare(a[1], b[1]) || a[2] - b[2] || a[3] - b[3]);
      expect(inKeyOrder(turns)).toEqual(sorted.map(({ one }) => one));
    }),
  );
});
