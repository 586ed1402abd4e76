import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cursorTag, decodeCursor, encodeCursor } from './cursor.ts';

const foreign = expect.objectContaining({ code: 'CURSOR_MISMATCH' }) as unknown;

describe('cursors', () => {
  it('decode to what was encoded', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ unit: 'grapheme' }), fc.maxSafeInteger(), (tag, text, number) => {
        expect(decodeCursor(encodeCursor(tag, [text, number]), ['String', 'Int64'])).toEqual({ tag, key: [text, number] });
      }),
    );
  });

  it('of a list with another key are refused', () => {
    expect(() => decodeCursor(encodeCursor('t', ['a']), ['Int32'])).toThrow(foreign);
    expect(() => decodeCursor(encodeCursor('t', ['a', 1]), ['String'])).toThrow(foreign);
    expect(() => decodeCursor(encodeCursor('t', [2 ** 31]), ['Int32'])).toThrow(foreign);
    expect(() => decodeCursor(encodeCursor('t', [1.5]), ['Int64'])).toThrow(foreign);
    expect(() => decodeCursor(encodeCursor('t', [null]), ['Int64'])).toThrow(foreign);
    expect(() => decodeCursor(encodeCursor('t', ['yesterday']), ['time'])).toThrow(foreign);
    expect(() => decodeCursor(Buffer.from('[1,"a"]').toString('base64url'), ['String'])).toThrow(foreign);
    expect(() => decodeCursor(Buffer.from('{"length":1,"0":"a"}').toString('base64url'), ['String'])).toThrow(foreign);
  });

  it('of arbitrary text are refused, never an internal error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(() => decodeCursor(text, ['String', 'Int32'])).toThrow(foreign);
      }),
    );
  });

  it('have a tag that only equal lists share', () => {
    expect(cursorTag(['steps', 'asc', [{ run: 'a' }]])).toBe(cursorTag(['steps', 'asc', [{ run: 'a' }]]));
    const lists = [
      ['steps', 'asc', { run: 'a' }],
      ['steps', 'desc', { run: 'a' }],
      ['steps', 'asc', { run: 'b' }],
      ['costs', 'asc', { run: 'a' }],
    ];
    expect(new Set(lists.map(cursorTag)).size).toBe(lists.length);
  });
});
