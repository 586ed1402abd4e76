import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteName, quoteText, tokens } from './sql-text.ts';

const texts = (sql: string): string[] => [...tokens(sql)].map(({ start, end }) => sql.slice(start, end));

describe('tokens', () => {
  it('are words, names, texts and symbols without spaces and comments', () => {
    expect(texts("select a.b, 'x''y' -- c\n/* d */ # e\nfrom `t``u` where 1.5e3 = $$ z $$ #!f")).toEqual([
      ...['select', 'a', '.', 'b', ',', "'x''y'", 'from', '`t``u`', 'where', '1.5e3', '=', '$$ z $$'],
    ]);
  });

  it.each([
    ["a // ' \n b // '", ['a', 'b']],
    ["a /* ' /* */ ' */ b /* ' */ c", ['a', 'b', 'c']],
    ['a /* /* */ b', ['a']],
    ['a / b', ['a', '/', 'b']],
  ])('read comments as the engine does: %j', (sql, expected) => {
    expect(texts(sql)).toEqual(expected);
  });

  it('have the depth of their nesting', () => {
    expect([...tokens('a (b [c] ) )d')].map(({ depth }) => depth)).toEqual([0, 0, 1, 1, 2, 1, 0, 0, 0]);
  });

  it('end with the text when a quoted text is not closed', () => {
    expect(texts("'open")).toEqual(["'open"]);
    expect(texts('$a open')).toEqual(['$', 'a', 'open']);
    expect(texts('$a$ open')).toEqual(['$', 'a', '$', 'open']);
    expect(texts("'ends with a backslash\\")).toEqual(["'ends with a backslash\\"]);
  });

  it('cover any text in order, without overlap', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (sql) => {
        let at = 0;
        for (const { start, end } of tokens(sql)) {
          expect(start).toBeGreaterThanOrEqual(at);
          expect(end).toBeGreaterThan(start);
          at = end;
        }
        expect(at).toBeLessThanOrEqual(sql.length);
      }),
    );
  });
});

describe('quoting', () => {
  it('makes one token of anything', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(texts(`${quoteText(text)} , ${quoteName(text)}`)).toEqual([quoteText(text), ',', quoteName(text)]);
      }),
    );
  });
});
