import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PastTurn } from '../../../../streams/core/agents.ts';
import { forgetPages, headOf, pageRules, piecesOf, readingOf, tailOf } from './pages.ts';

const rules = { ...pageRules, pieceChars: 25_000 };
const small = { pieceChars: 3, maxChars: 12, maxPieces: 3, keptChars: 2 };

describe('the pieces of a page', () => {
  it.each([
    ['an empty page has none', 0, []],
    ['a short one is one', 10, [10]],
    ['exactly one', 25_000, [25_000]],
    ['one more character', 25_001, [25_000, 1]],
    ['ten at most', 260_000, Array.from({ length: 10 }, () => 25_000)],
  ])('%s', (_name, chars, wanted) => {
    expect(piecesOf('x'.repeat(chars), rules).map(({ length }) => length)).toEqual(wanted);
  });
  it('of 10,000 characters are ten at most, too', () => {
    const pieces = piecesOf('x'.repeat(250_000), { ...rules, pieceChars: 10_000 });
    expect([pieces.length, pieces.join('').length]).toEqual([10, 100_000]);
  });
  it('do not split a character', () => {
    expect(piecesOf('ab😀cd', small)).toEqual(['ab', '😀c', 'd']);
    expect([headOf('a😀', 2), tailOf('😀a', 2), headOf('😀', 1), tailOf('😀', 1)]).toEqual(['a', 'a', '', '']);
  });
  it('joined are the beginning of the page, each within its bound', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 80 }),
        fc.integer({ min: 2, max: 9 }),
        fc.integer({ min: 0, max: 40 }),
        (page, pieceChars, maxChars) => {
          const pieces = piecesOf(page, { pieceChars, maxChars, maxPieces: 4, keptChars: 3 });
          expect(page.startsWith(pieces.join(''))).toBe(true);
          expect(pieces.length).toBeLessThanOrEqual(4);
          expect(pieces.join('').length).toBeLessThanOrEqual(maxChars);
          for (const piece of pieces) {
            expect(piece.length).toBeGreaterThan(0);
            expect(piece.length).toBeLessThanOrEqual(pieceChars);
            expect(Buffer.from(piece).toString()).toBe(piece);
          }
        },
      ),
    );
  });
});

const page = (text: string): PastTurn => ({
  action: { tool: 'access', url: 'u' },
  result: { status: 'ok', errorType: '', text, items: [], cacheHit: false },
  text: 'open',
});
const thought: PastTurn = { action: undefined, result: undefined, text: 'so', withoutCall: { status: 'ok', errorType: '' } };
const silence: PastTurn = {
  action: undefined,
  result: undefined,
  text: '',
  withoutCall: { status: 'timeout', errorType: 'model_timeout' },
};

describe('reading', () => {
  it('goes on piece by piece until the page is done, and a turn in which the model gave nothing reads nothing', () => {
    const history = [page('abcdef')];
    expect(readingOf(history, small).next).toEqual({ text: 'abc', piece: 0 });
    expect(readingOf([...history, silence], small).next).toEqual({ text: 'abc', piece: 0 });
    expect(readingOf([...history, thought], small).next).toEqual({ text: 'def', piece: 1 });
    const done = readingOf([...history, thought, silence, thought], small);
    expect(done.next).toBeUndefined();
    expect(done.turns.map(({ read, page: opened }) => [read?.piece, opened?.kept])).toEqual([
      [undefined, ['ab', 'de']],
      [0, undefined],
      [1, undefined],
    ]);
  });
  it('does not begin for a page that is empty or missing', () => {
    expect(readingOf([page('')], small).next).toBeUndefined();
    const missing: PastTurn = { ...page(''), result: { ...page('x').result!, status: 'error', text: 'There is no page at u.' } };
    expect(readingOf([missing], small)).toMatchObject({ next: undefined, turns: [{ page: undefined }] });
  });
});

describe('forgetting', () => {
  it('drops the text of a page once it was read to its end', () => {
    const history = [page('abcdef'), thought];
    expect(forgetPages(history, small)).toEqual(history);
    const [forgotten] = forgetPages([...history, thought], small);
    expect(forgotten).toMatchObject({ pieces: ['ab', 'de'], result: { text: '' } });
    expect(forgetPages([forgotten!, thought, thought], small)[0]).toBe(forgotten);
  });
});
