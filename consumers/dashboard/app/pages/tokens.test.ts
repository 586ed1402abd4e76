import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stacksOf } from './stacks.ts';
import { coloringsOf, placesOf, shadesOf, shownTokens, tokensOf, type TurnTokens } from './tokens.ts';

const turn = (more: Partial<TurnTokens>): TurnTokens => ({ text: '', policy_span_versions: [], policy_span_tokens: [], ...more });
const bytes = (text: string): number => new TextEncoder().encode(text).length;

describe('tokens of a turn', () => {
  it('are the parts of the text between consecutive end offsets, for any characters', () => {
    const parts = fc.array(fc.string({ unit: 'grapheme', maxLength: 5 }), { maxLength: 12 });
    fc.assert(
      fc.property(parts, (texts) => {
        const ends = texts.map((_, at) => bytes(texts.slice(0, at + 1).join('')));
        const rows = tokensOf(turn({ text: texts.join(''), token_ends: ends }));
        expect(rows.map(({ text }) => text)).toEqual(texts);
      }),
    );
  });

  it('round an end inside a character up to the end of the character, and stay within the text', () => {
    expect(placesOf('a€b', [2, 3, 4, 5, 99])).toEqual([2, 2, 2, 3, 3]);
    expect(placesOf('😀', [1, 4])).toEqual([2, 2]);
  });

  it('have the version of their span; what was not reported is undefined', () => {
    const rows = tokensOf(turn({ text: 'ab', token_ends: [1, 2], policy_span_versions: [3, -1], policy_span_tokens: [1, 1] }));
    expect(rows).toEqual([
      { text: 'a', id: undefined, logprob: undefined, version: 3 },
      { text: 'b', id: undefined, logprob: undefined, version: -1 },
    ]);
    expect(tokensOf(turn({ token_ids: [7], logprobs: [null] }))).toEqual([
      { text: undefined, id: 7, logprob: undefined, version: undefined },
    ]);
    expect(tokensOf(turn({ text: 'no tokens' }))).toEqual([]);
  });

  it('are shaded by likelihood, by version, or in alternation', () => {
    const rows = tokensOf(turn({ logprobs: [0, -1.5, null, -99], policy_span_versions: [4, 9], policy_span_tokens: [2, 2] }));
    expect(coloringsOf(rows, undefined)).toEqual(['likelihood', 'version', 'boundary']);
    expect(shadesOf(rows, 'likelihood')).toEqual([0, 1, -1, 7]);
    expect(shadesOf(rows, 'version')).toEqual([0, 0, 1, 1]);
    expect(shadesOf(rows, 'boundary')).toEqual([1, -1, 1, -1]);
    expect(coloringsOf(tokensOf(turn({ token_ids: [1, 2] })), undefined)).toEqual(['boundary']);
  });

  it('are shaded by advantage, except those that the loss mask leaves out', () => {
    const rows = tokensOf(turn({ token_ids: [1, 2, 3] }));
    const shades = (advantage: number, mask: readonly number[] = []) => shadesOf(rows, 'advantage', { advantage, mask });
    expect(coloringsOf(rows, { advantage: 1, mask: [] })).toEqual(['advantage', 'boundary']);
    expect([shades(0.1), shades(9), shades(-0.6), shades(0)]).toEqual([
      [0, 0, 0],
      [3, 3, 3],
      [5, 5, 5],
      [-1, -1, -1],
    ]);
    expect(shades(1, [1, 0, 1])).toEqual([2, -1, 2]);
  });

  it('keep their boundaries when invisible characters are shown as marks', () => {
    const rows = tokensOf(turn({ text: 'a\u202Eb rest', token_ends: [1, 4, 5] }));
    const { text, ends } = shownTokens(rows, ' rest');
    expect(ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end))).toEqual(['a', '‹U+202E›', 'b']);
    expect(text.endsWith(' rest')).toBe(true);
  });
});

describe('bars of a histogram', () => {
  it('count everything once', () => {
    const counts = fc.array(fc.nat(50), { maxLength: 9 });
    fc.assert(
      fc.property(fc.array(fc.record({ reason: fc.constantFrom('', 'stale', 'uniform_group'), counts }), { maxLength: 4 }), (fates) => {
        const { kept, discarded, total, most, bins } = stacksOf({ figure: 'reward', low: 0, width: 1, fates });
        const all = fates.flatMap((fate) => fate.counts).reduce((sum, one) => sum + one, 0);
        expect(total.kept + total.discarded).toBe(all);
        expect([kept.length, discarded.length]).toEqual([bins, bins]);
        expect(Math.max(1, ...kept.map((value, at) => value + (discarded[at] ?? 0)))).toBe(most);
      }),
    );
  });
});
