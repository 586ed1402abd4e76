import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { declaredByWith, decideShown, decideText as judge, tokensOf } from './text.ts';

const decideText = (statement: string) => judge(statement, new Set(['system', 'other', 'a.b']));

const quote = (text: string, mark: string): string => `${mark}${text.replace(/[\\]/g, '\\\\').replaceAll(mark, `\\${mark}`)}${mark}`;

describe('the text of a statement', () => {
  it.each([
    'SELECT 1',
    'WITH x AS (SELECT 1) SELECT * FROM x',
    '(SELECT 1) UNION ALL (SELECT 2)',
    "SELECT 'file(''/etc/passwd'')', 'INTO OUTFILE', '; DROP'",
    'SELECT `file` FROM turns',
    'SELECT {a:String}, {b:Array(Nullable(String))}',
    'SELECT count() FROM turns AS t(a, b) WHERE (a IN (1)) AND (NOT (b))',
    'SELECT sum(x) OVER (PARTITION BY y) FROM (VALUES (1)) WINDOW w AS (ORDER BY x ASC)',
    'SELECT format AS FORMAT FROM turns',
    'SELECT system, other FROM system.one, system.numbers',
    'SELECT turnstream.steps.step FROM turnstream.steps',
  ])('is allowed: %s', (statement) => {
    expect(decideText(statement)).toEqual({ allowed: true });
  });

  it.each([
    ['', 'this statement'],
    ["'x'", 'this statement'],
    ['DROP TABLE turns', 'a DROP statement'],
    ['INSERT INTO turns SELECT 1', 'an INSERT statement'],
    ['SHOW TABLES', 'a SHOW statement'],
    ['SELECT 1; SELECT 2', 'a second statement'],
    ['SELECT 1 FORMAT JSON', 'a FORMAT clause'],
    ['SELECT 1 FORMAT `Null`', 'a FORMAT clause'],
    ["SELECT 1 INTO OUTFILE '/tmp/x'", 'INTO OUTFILE'],
    ['SELECT {a:Identifier}', 'a parameter of type Identifier'],
    ['SELECT * FROM {a: identifier }', 'a parameter of type Identifier'],
    ["SELECT file('/etc/passwd')", 'the function "file"'],
    ["SELECT `file`('/etc/passwd')", 'the function "file"'],
    ['SELECT * APPLY (x -> file(x))', 'the function "APPLY"'],
    ['SELECT `a\\nb`', 'a quoted name'],
    ['SELECT `a (children 3)`', 'a quoted name'],
    ['SELECT `a (alias x)`', 'a quoted name'],
    ['SELECT * FROM system.users', '"system.users"'],
    ['SELECT sum(1) OVER (PARTITION BY other.x)', '"other.x"'],
    ['SELECT * FROM `a.b`.c', '"a.b.c"'],
    ['SELECT * FROM `system`.`users`', '"system.users"'],
    ["SELECT 1 AS a ORDER BY a ASC COLLATE 'de@collation=phonebook'", 'the collation'],
    ['SELECT {a:AggregateFunction(sum, UInt8)}', 'the parameter'],
    ["SELECT {a:DateTime('file:/etc/passwd')}", 'the parameter'],
    ["SELECT 'open", 'a quote that is not closed'],
    ['SELECT 1\u0000', 'a control character'],
    ['SELECT `a\nb`', 'a control character'],
  ])('is refused: %j', (statement, part) => {
    expect(decideText(statement)).toMatchObject({ allowed: false, part: expect.stringContaining(part) as string });
  });

  it('is not searched inside string literals', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => {
        expect(decideText(`SELECT ${quote(text, "'")}`)).toEqual({ allowed: true });
      }),
    );
  });

  it('is searched for calls after any string literals', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme-ascii' })), (texts) => {
        const list = texts.map((text) => quote(text, "'")).join(', ');
        expect(decideText(`SELECT ${list === '' ? '1' : list}, file('x')`)).toMatchObject({ allowed: false });
      }),
    );
  });

  it('declares the names of WITH', () => {
    expect(declaredByWith('WITH y(a, b) AS (SELECT 1, 2), `z z` AS (SELECT 1), 1 AS one SELECT CAST(a, 1) AS (x)')).toEqual(
      expect.arrayContaining(['y', 'a', 'b', 'z z']),
    );
    expect(declaredByWith('WITH x AS MATERIALIZED (SELECT 1) SELECT 1 AS y')).toEqual(['x']);
  });

  it('must not have more SELECTs than the tree', () => {
    const tree = 'SelectWithUnionQuery\n SelectQuery\n  SelectQuery';
    expect(decideShown("SELECT (SELECT 'select')", tree)).toEqual({ allowed: true });
    expect(decideShown('SELECT (SELECT (SELECT 1))', tree)).toMatchObject({ allowed: false });
  });

  it('is split into tokens without losing a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const tokens = tokensOf(text);
        if (tokens === undefined) return;
        const kept = tokens.map(({ kind, value }) => (kind === 'name' ? `?${value}?` : value)).join('');
        expect(kept.replace(/\s/g, '').length).toBe(text.replace(/\s/g, '').length);
      }),
    );
  });
});
