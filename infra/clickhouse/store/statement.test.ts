import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseStatement } from './statement.ts';

const read = (sql: string, format?: string): unknown => ({ kind: 'read', verb: expect.any(String) as string, sql, format });

describe('reads and writes', () => {
  it.each([
    'select 1',
    ' /* hello; */ -- there;\n SELECT 1',
    '(select 1) union all (select 2)',
    'with 1 as x select x',
    'show tables',
    'desc table t',
    'explain select 1',
    "kill query where query_id = 'x'",
    'insert into t select * from s',
    'insert into t (a) (select 1)',
    'insert into t with 1 as x select x',
  ])('%s is a read', (sql) => {
    expect(parseStatement(sql)).toMatchObject({ kind: 'read', sql });
  });

  it.each([
    'create table t (a UInt8) engine = Memory',
    'drop table t',
    'alter table t add column b UInt8',
    'optimize table t final',
    'system flush logs',
    '`odd`',
    "'text'",
  ])('%s is a write', (sql) => {
    expect(parseStatement(sql)).toMatchObject({ kind: 'write', sql });
  });

  it('finds the format at the end, not in texts, names or parentheses', () => {
    expect(parseStatement('select 1 format JSON')).toEqual(read('select 1 format JSON', 'JSON'));
    expect(parseStatement('select 1 FORMAT CSV settings max_threads = 1;')).toMatchObject({ format: 'CSV' });
    for (const sql of [
      "select ' format JSON'",
      'select `format JSON`',
      'select (1 format JSON)',
      'select 1 -- format JSON',
      'select $x$ format JSON $x$',
    ]) {
      expect(parseStatement(sql)).toMatchObject({ format: undefined });
    }
  });
});

describe('more than one statement', () => {
  it.each([
    'select 1; select 2',
    "select ';'; drop table t",
    'select 1;;select 2',
    'select 1 -- ;\n; x',
    'select $a$ ; $a$; x',
    'insert into t select 1; drop table t',
  ])('%s is refused', (sql) => {
    expect(() => parseStatement(sql)).toThrow(/Multi-statements are not allowed/);
  });

  it.each([
    'select 1;',
    'select 1 ; ; -- end',
    "select 'a\\';b', 'it'';s'",
    'select "a;b", `c\\`;d`',
    'select /* ; */ 1',
    'select $tag$ ; $tag$',
    'select 1 # ; x',
  ])('%s is one', (sql) => {
    expect(parseStatement(sql)).toMatchObject({ kind: 'read' });
  });

  it.each(['', '  ', '-- nothing', '/* nothing */', '/* open'])('%j is empty', (sql) => {
    expect(() => parseStatement(sql)).toThrow(/Empty query/);
  });
});

describe('inserts that bring rows', () => {
  it.each([
    ['insert into t format JSONEachRow', 'insert into t', '', 'JSONEachRow', ''],
    ['INSERT INTO db.`t;` (a, b) FORMAT CSV\n1,2\n', 'INSERT INTO db.`t;` (a, b)', '', 'CSV', '1,2\n'],
    ['insert into format format TSV\n\nx', 'insert into format', '', 'TSV', '\nx'],
    ['insert into db.format (a) FORMAT CSV', 'insert into db.format (a)', '', 'CSV', ''],
    ['insert into db.format FORMAT CSV', 'insert into db.format', '', 'CSV', ''],
    ['insert into values values (1)', 'insert into values', '', 'Values', ' (1)'],
    ['insert into db.select format CSV', 'insert into db.select', '', 'CSV', ''],
    [
      "insert into table t (a) settings x = 1, y = 'format Z' format Native",
      'insert into table t (a)',
      "settings x = 1, y = 'format Z'",
      'Native',
      '',
    ],
    ["insert into t values (1, 'a;b'); ", 'insert into t', '', 'Values', " (1, 'a;b'); "],
    ['insert into t FORMAT JSONEachRow {"a": "; drop table t"}', 'insert into t', '', 'JSONEachRow', '{"a": "; drop table t"}'],
    [
      "insert into function file('x', 'CSV', 'format String') format CSV",
      "insert into function file('x', 'CSV', 'format String')",
      '',
      'CSV',
      '',
    ],
    ['insert t format CSV', 'insert t', '', 'CSV', ''],
    ['insert into t (format, select)', 'insert into t (format, select)', '', undefined, ''],
    ['insert into t;', 'insert into t', '', undefined, ''],
  ])('%s', (...[sql, target, settings, format, rows]) => {
    const statement = parseStatement(sql);
    expect(statement).toMatchObject({ kind: 'rows', target, settings, format });
    expect(statement.kind === 'rows' && sql.slice(statement.rowsAt)).toBe(rows);
  });

  it('does not read files of the server', () => {
    expect(() => parseStatement("insert into t from infile '/x' format CSV")).toThrow(/INFILE/);
    expect(() => parseStatement("select 1 into outfile '/x'")).toThrow(/OUTFILE/);
  });

  it('keeps the rows as they are, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (rows) => {
        const sql = `insert into t format JSONEachRow\n${rows}`;
        const statement = parseStatement(sql);
        expect(statement.kind === 'rows' && sql.slice(statement.rowsAt)).toBe(rows);
      }),
    );
  });
});

describe('any text', () => {
  it('is parsed, or refused with an error code of ClickHouse, and quoted parts never change its kind', () => {
    const quoted = fc
      .tuple(fc.constantFrom("'", '`', '"'), fc.string({ unit: 'binary' }))
      .map(([quote, text]) => quote + text.replaceAll('\\', '\\\\').replaceAll(quote, quote + quote) + quote);
    fc.assert(
      fc.property(quoted, quoted, (a, b) => {
        const sql = `select ${a}, ${b} as x format CSV`;
        expect(parseStatement(sql)).toEqual(read(sql, 'CSV'));
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          parseStatement(text);
        } catch (error) {
          expect(error).toMatchObject({ name: 'ClickHouseFailure' });
        }
      }),
    );
  });
});
