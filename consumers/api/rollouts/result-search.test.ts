import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeTokens } from './result-search.ts';

/** Words as in the engine's token filter: runs of letters, digits and non-ASCII characters. */
const tokensOf = (text: string): readonly string[] => text.toLowerCase().split(/[\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+/);

describe('whole words of a search text', () => {
  it('are its ASCII words with a separator on both sides', () => {
    expect(wholeTokens('he Danube flows through Vienn')).toEqual(['through', 'danube', 'flows']);
    expect(wholeTokens('Danube')).toEqual([]);
    expect(wholeTokens(' Zürich 12_ab ')).toEqual(['12', 'ab']);
  });

  it('are words of every text that contains the search text', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'B', '7', ' ', '.', '_', 'ü', '\n'), maxLength: 12 });
    fc.assert(
      fc.property(piece, piece, piece, (before, text, after) => {
        const found = tokensOf(`${before}${text}${after}`);
        for (const token of wholeTokens(text)) expect(found).toContain(token);
      }),
    );
  });
});
