import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digested } from './audit-digest.ts';

it('gives a row the same digests whether its tool result is part of it or passed separately', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 40_000 }), fc.string(), (result, text) => {
      const apart = Buffer.from(result);
      const whole = digested('turns', { turn: 1, text, tool_result: result });
      // Twice: the second digest comes from the cache.
      for (let time = 0; time < 2; time += 1) expect(digested('turns', { turn: 1, text, tool_result: '' }, apart)).toEqual(whole);
    }),
  );
});

it('gives different texts different digests', () => {
  const of = (result: string) => digested('turns', { text: '', tool_result: '' }, Buffer.from(result))['tool_result'];
  expect(of('a')).not.toBe(of('b'));
});
