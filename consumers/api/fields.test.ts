import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnsToRead } from './fields.ts';

const light = { a: 'text', b: 'whole' } as const;
const heavy = { text: 'text', tokens: 'wholes' } as const;

describe('fields', () => {
  it.each([
    [undefined, ['a', 'b']],
    [['b'], ['b']],
    [
      ['b', 'a', 'b'],
      ['b', 'a'],
    ],
    [['text'], ['a', 'b', 'text']],
    [
      ['tokens', 'text'],
      ['a', 'b', 'tokens', 'text'],
    ],
    [
      ['b', 'text'],
      ['b', 'text'],
    ],
  ])('%s', (given, names) => {
    expect(columnsToRead(given, light, heavy)).toEqual(names);
  });

  it('never select a column that does not exist', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'text', 'tokens', 'constructor', '__proto__')), (names) => {
        const all = ['a', 'b', 'text', 'tokens'];
        const read = columnsToRead(names, light, heavy);
        expect(read.every((name) => all.includes(name))).toBe(true);
        expect(new Set(read).size).toBe(read.length);
        for (const name of names) if (all.includes(name)) expect(read).toContain(name);
      }),
    );
  });
});
