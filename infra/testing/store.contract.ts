// The contract of every Store, whichever ClickHouse is behind it. Always runs with the embedded store, and also with CLICKHOUSE_URL when it
// is set.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClickHouseStore } from '../clickhouse/client.ts';
import { isPlatformError } from '../../streams/core/errors.ts';
import type { Cell, Column, ColumnRows, Row } from '../../streams/core/ports.ts';

/** Any text that UTF-8 can encode: control characters, quotes, backslashes, line ends, astral planes. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom("'", '\\', '\n', '\t', '\r', '\0', '"', '`', '{', '}', ';', '-', '/', '*', '日', 'é', 'N'),
    maxLength: 20,
  }),
);

const gather = async (parts: AsyncIterable<Buffer>): Promise<Buffer> => {
  const all: Buffer[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
};

const failure = async (work: Promise<unknown>): Promise<unknown> => work.then(() => 'no error').catch((error: unknown) => error);

/** `connect` must return a store whose database may be created and dropped; its name must contain `test`. */
export function storeContract(name: string, connect: () => Promise<ClickHouseStore>): void {
  describe(`a store: ${name}`, () => {
    let store: ClickHouseStore;
    const table = async (columns: string, more = ''): Promise<string> => {
      const fresh = `t_${randomUUID().replaceAll('-', '')}`;
      await store.command(
        `create table ${fresh} (${columns}) engine = MergeTree order by tuple() settings non_replicated_deduplication_window = 100 ${more}`,
      );
      return fresh;
    };
    const count = async (of: string): Promise<number> => (await store.query<{ n: number }>(`select count() as n from ${of}`))[0]!.n;

    beforeAll(async () => {
      store = await connect();
      if (!store.database.includes('test')) throw new Error(`${store.database} is not a database for tests`);
      await store.createDatabase();
    });
    afterAll(async () => {
      await store.command(`drop database if exists ${store.database}`);
      await store.close();
    });

    it('answers a ping', async () => {
      expect(await store.ping()).toBe(true);
    });

    it('gives rows as objects, 64-bit integers as numbers', async () => {
      const rows = await store.query("select toInt64(-5) as a, toUInt64(9007199254740991) as b, 'x' as c, [1, 2] as d, null as e");
      expect(rows).toEqual([{ a: -5, b: 9007199254740991, c: 'x', d: [1, 2], e: null }]);
    });

    it('binds any text as it is', async () => {
      await fc.assert(
        fc.asyncProperty(anyText, fc.array(anyText, { maxLength: 4 }), async (text, list) => {
          const [row] = await store.query<{ hex: string; list: string[] }>(
            'select lower(hex({text:String})) as hex, arrayMap(x -> lower(hex(x)), {list:Array(String)}) as list',
            { params: { text, list } },
          );
          expect(row!.hex).toBe(Buffer.from(text).toString('hex'));
          expect(row!.list).toEqual(list.map((item) => Buffer.from(item).toString('hex')));
        }),
        { numRuns: 100 },
      );
    });

    it('binds numbers, nulls, maps and identifiers', async () => {
      const params = { n: 7, f: -0.5, none: null, map: { "a'": 1 }, table: 'one' };
      const sql =
        'select {n:UInt64} as n, {f:Float64} as f, {none:Nullable(String)} as none, {map:Map(String, UInt8)} as map from system.{table:Identifier}';
      expect(await store.query(sql, { params })).toEqual([{ n: 7, f: -0.5, none: null, map: { "a'": 1 } }]);
    });

    it('inserts any text as it is', async () => {
      const of = await table('id UInt32, text String, list Array(String), maybe Nullable(String)');
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ text: anyText, list: fc.array(anyText, { maxLength: 3 }), maybe: fc.option(anyText) }), { minLength: 1 }),
          async (made) => {
            const rows: Row[] = made.map((row, id) => ({ id, ...row }));
            await store.command(`truncate table ${of}`);
            await store.insert(of, rows, randomUUID());
            expect(await store.query(`select * from ${of} order by id`)).toEqual(rows);
          },
        ),
        { numRuns: 25 },
      );
    });

    it('stores the same whether rows come as a block of columns or as text', async () => {
      const columns =
        "word LowCardinality(String), text String, yes Bool, small Int8, n Int32, big Int64, u UInt16, half Float32, f Float64, at DateTime64(6, 'UTC'), words Array(String), pairs Array(Array(Int32)), more String default 'none'";
      const [block, lines] = [await table(columns), await table(columns)];
      const times = { small: -7, n: -2_147_483_648, big: -9_007_199_254_740_991, u: 65_535, at: 1_767_323_045_678_901 };
      const rows: Row[] = [
        { word: 'a', text: 'ä'.repeat(300), yes: true, ...times, half: 0.1, f: 'NaN', words: ['x', ''], pairs: [[1, 2], []] },
        { word: '', text: '', yes: false, ...times, half: '-Infinity', f: 0.1, words: [], pairs: [] },
      ];
      await store.insert(block, rows, 'block');
      // A third row with an extra column, which no block supports.
      await store.insert(lines, [...rows, { ...rows[1], more: 'other' }], 'lines');
      const [found] = await store.query<{ same: number; rows: number }>(
        `select count() as rows, uniqExact(*) as same from (select * from ${block} union all select * from ${lines} where more = 'none')`,
      );
      expect(found).toEqual({ rows: 4, same: 2 });
    });

    it('stores columns as they are, or as rows when a column does not have the type of the table', async () => {
      const texts = ['a', 'ä'.repeat(100), ''];
      const sources = texts.map((text) => Buffer.from(text));
      const text: Column = { kind: 'texts', sources, starts: [0, 0, 0], ends: sources.map(({ length }) => length) };
      const columns = (id: Column): ColumnRows => ({
        length: 3,
        columns: () =>
          new Map<string, Column>([
            ['id', id],
            ['text', text],
          ]),
        rows: () => texts.map((one, at) => ({ id: at, text: one })),
      });
      for (const id of [Float64Array.of(0, 1, 2), ['0', '1', '2']]) {
        const of = await table('id UInt8, text LowCardinality(String)');
        await store.insert(of, columns(id), 'token');
        await store.insert(of, columns(id), 'token');
        expect(await store.query(`select * from ${of} order by id`)).toEqual(texts.map((one, at) => ({ id: at, text: one })));
      }
    });

    it('inserts rows with different columns, with defaults for the missing ones', async () => {
      const of = await table("a UInt32 default 7, b String default 'none'");
      await store.insert(of, [{ a: 1 }, { b: 'two' }], 'token');
      expect(await store.query(`select a, b from ${of} order by a`)).toEqual([
        { a: 1, b: 'none' },
        { a: 7, b: 'two' },
      ]);
    });

    it('takes 64-bit integers as decimal strings and times in ISO 8601', async () => {
      const of = await table("big UInt64, at DateTime64(6, 'UTC')");
      await store.insert(of, [{ big: '18446744073709551615', at: '2026-01-02T03:04:05.678901Z' }], 'token');
      expect(await store.query(`select toString(big) as big, toString(at) as at from ${of}`)).toEqual([
        { big: '18446744073709551615', at: '2026-01-02 03:04:05.678901' },
      ]);
    });

    it('does nothing for no rows', async () => {
      const of = await table('a UInt32');
      await store.insert(of, [], 'token');
      expect(await count(of)).toBe(0);
    });

    it('changes nothing when a token is repeated, not even with other rows', async () => {
      const of = await table('a UInt32');
      await store.insert(of, [{ a: 1 }, { a: 2 }], 'one');
      await store.insert(of, [{ a: 1 }, { a: 2 }], 'one');
      await store.insert(of, [{ a: 3 }], 'one');
      expect(await count(of)).toBe(2);
      await store.insert(of, [{ a: 1 }, { a: 2 }], 'two');
      expect(await count(of)).toBe(4);
    });

    it('changes nothing when a token is repeated, in any partition of a table or through a view', async () => {
      const of = await table('a UInt32', '');
      const parted = `${of}_parted`;
      await store.command(
        `create table ${parted} (a UInt32) engine = MergeTree partition by a % 3 order by a settings non_replicated_deduplication_window = 100`,
      );
      await store.command(`create materialized view ${of}_view to ${parted} as select a from ${of}`);
      const rows = Array.from({ length: 9 }, (_, a) => ({ a }));
      for (let time = 0; time < 3; time += 1) await store.insert(of, rows, 'one');
      expect(await count(of)).toBe(9);
      expect(await count(parted)).toBe(9);
      await store.insert(parted, rows, 'direct');
      await store.insert(parted, rows, 'direct');
      expect(await count(parted)).toBe(18);
    });

    it('inserts a batch as a whole or not at all', async () => {
      const of = await table('a UInt32, constraint small check a < 1000');
      const rows = Array.from({ length: 1001 }, (_, a) => ({ a }));
      const error = await failure(store.insert(of, rows, 'one'));
      expect(isPlatformError(error, 'STORE_REFUSED') && error.context).toMatchObject({ clickhouseCode: 469 });
      expect(await count(of)).toBe(0);
      await store.insert(of, rows.slice(0, 1000), 'one');
      expect(await count(of)).toBe(1000);
    });

    it('refuses columns and values that do not fit', async () => {
      const of = await table('a UInt32');
      for (const row of [{ b: 1 }, { a: 'x' }] satisfies Record<string, Cell>[]) {
        expect(isPlatformError(await failure(store.insert(of, [row], randomUUID())), 'STORE_REFUSED')).toBe(true);
      }
      expect(await count(of)).toBe(0);
    });

    it.each(['JSONEachRow', 'CSV', 'TabSeparated', 'Native', 'RowBinary', 'Parquet', 'ArrowStream', 'JSON', 'CSVWithNames'])(
      'streams %s',
      async (format) => {
        const sql = "select number as n, concat('text ', toString(number)) as text from numbers(200000)";
        const bytes = await gather(await store.stream(sql, { format }));
        const texts: Readonly<Record<string, string>> = {
          JSONEachRow: '{"n":0,"text":"text 0"}\n',
          CSV: '0,"text 0"\n',
          TabSeparated: '0\ttext 0\n',
          Parquet: 'PAR1',
          CSVWithNames: '"n","text"\n0,"text 0"\n',
        };
        expect(
          bytes
            .subarray(0, 200)
            .toString('latin1')
            .startsWith(texts[format] ?? ''),
        ).toBe(true);
        if (!['Parquet', 'ArrowStream'].includes(format)) expect(bytes.includes('text 199999')).toBe(true);
        if (format === 'JSON') expect((JSON.parse(bytes.toString()) as { rows: number }).rows).toBe(200000);
        if (format === 'CSV') expect(bytes.toString().trimEnd().split('\n')).toHaveLength(200000);
      },
    );

    it('ends a stream that fails half-way with the error, after the rows before it', async () => {
      const parts = await store.stream('select number, throwIf(number = 500000) from numbers(1000000) settings max_block_size = 10000', {
        format: 'TabSeparated',
      });
      let bytes = Buffer.alloc(0);
      const error = await failure(
        (async () => {
          for await (const part of parts) bytes = Buffer.concat([bytes, part]);
        })(),
      );
      expect(isPlatformError(error, 'STORE_REFUSED') && error.context).toMatchObject({ clickhouseCode: 395 });
      expect(bytes.toString()).not.toContain('__exception__');
    });

    it('can stop reading a stream early and go on', async () => {
      for await (const part of await store.stream('select number from numbers(100000000)', { format: 'TabSeparated' })) {
        expect(part.length).toBeGreaterThan(0);
        break;
      }
      expect(await store.query('select 1 as one')).toEqual([{ one: 1 }]);
    });

    it('reports refusals with the code of ClickHouse and the operation', async () => {
      const error = await failure(store.query('select * from no_such_table'));
      expect(isPlatformError(error, 'STORE_REFUSED') && error.context).toMatchObject({ clickhouseCode: 60 });
      expect(String(error)).toContain('querying select * from no_such_table');
      const syntax = await failure(store.command('selec 1'));
      expect(isPlatformError(syntax, 'STORE_REFUSED') && syntax.context).toMatchObject({ clickhouseCode: 62 });
      const two = await failure(store.command('select 1; select 2'));
      expect(isPlatformError(two, 'STORE_REFUSED') && two.context).toMatchObject({ clickhouseCode: 62 });
    });

    it('passes settings for one statement only', async () => {
      const read = "select getSetting('max_block_size') as size";
      expect(await store.query(read, { settings: { max_block_size: 1234 } })).toEqual([{ size: 1234 }]);
      expect(await store.query(read)).not.toEqual([{ size: 1234 }]);
      const late = await failure(
        store.query('select sleepEachRow(0.2) from numbers(50) settings max_block_size = 1', { settings: { max_execution_time: 1 } }),
      );
      expect(isPlatformError(late, 'STORE_REFUSED') && late.context).toMatchObject({ clickhouseCode: 159 });
      const readonly = await failure(store.command('create table nope (a UInt8) engine = Memory', { settings: { readonly: 1 } }));
      expect(isPlatformError(readonly, 'STORE_REFUSED') && readonly.context).toMatchObject({ clickhouseCode: 164 });
    });

    it('reports STORE_FULL when memory does not suffice', async () => {
      const error = await failure(
        store.query('select groupArray(number) from numbers(10000000)', { settings: { max_memory_usage: 1000000 } }),
      );
      expect(isPlatformError(error, 'STORE_FULL') && error.context).toMatchObject({ clickhouseCode: 241 });
    });

    it('stops waiting when its signal aborts', async () => {
      const abort = new AbortController();
      const waiting = failure(
        store.query('select sleepEachRow(0.5) from numbers(20) settings max_block_size = 1', { signal: abort.signal }),
      );
      const reason = new Error('enough');
      abort.abort(reason);
      expect(await waiting).toBe(reason);
    });
  });
}
