import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { testApi } from '../../../infra/testing/api.ts';
import { legitimateStatements } from '../../../infra/testing/legitimate-statements.ts';
import { formatNames } from './formats.ts';
import { codeOf, post, server, store } from './sql.testing.ts';

describe('legitimate statements', () => {
  it.each(legitimateStatements.map(({ query, params }) => [query, params]))('%s', async (query, params) => {
    const answer = await post({ query, ...(params === undefined ? {} : { params }) });
    expect(answer.statusCode, answer.body).toBe(200);
    expect(Array.isArray(answer.json<{ data: unknown }>().data)).toBe(true);
  });

  it('bind their values unchanged', async () => {
    const params = { list: [1, 2], text: "it's {x}; -- \\ \n\t'", flag: true, nothing: null, words: ["a'b", 'c\\d'] };
    const query =
      'select {list:Array(Int32)} as list, {text:String} as text, {flag:Bool} as flag, {nothing:Nullable(String)} as nothing, {words:Array(String)} as words';
    expect((await post({ query, params })).json<{ data: unknown }>().data).toEqual([params]);
  });

  it.each(formatNames)('are answered as %s', async (format) => {
    const answer = await post({ query: 'select step, reward_mean from steps order by step', format });
    expect(answer.statusCode).toBe(200);
    expect(answer.rawPayload.length).toBeGreaterThan(10);
  });

  it('are answered exactly in the format', async () => {
    const query = 'select step, run_id from steps order by step limit 2';
    expect((await post({ query, format: 'TSV' })).body).toBe('1\trun-a\n2\trun-a\n');
    expect((await post({ query, format: 'CSVWithNames' })).body).toBe('"step","run_id"\n1,"run-a"\n2,"run-a"\n');
    expect((await post({ query, format: 'JSONEachRow' })).headers['content-type']).toBe('application/x-ndjson');
    expect((await post({ query, format: 'Parquet' })).rawPayload.subarray(0, 4).toString()).toBe('PAR1');
  });

  it('never cause an internal error', async () => {
    const column = fc.constantFrom('step', 'reward_mean', 'run_id', 'tokens', 'at', 'loss', 'groups');
    const call = fc.constantFrom('count', 'max', 'min', 'any', 'uniqExact', 'toString', 'length', 'round', 'abs', 'toDate', 'lower');
    const expression = fc.oneof(
      column,
      fc.tuple(call, column).map(([name, argument]) => `${name}(${argument})`),
      fc
        .tuple(column, fc.constantFrom('+', '-', '*', '/', '=', '<', 'in'), column)
        .map(([left, sign, right]) => `${left} ${sign} ${right}`),
      fc.integer().map(String),
      fc.string({ unit: 'grapheme' }).map((text) => `'${text.replace(/[\\']/g, '\\$&')}'`),
    );
    const statement = fc
      .record({
        list: fc.array(expression, { minLength: 1, maxLength: 4 }),
        where: fc.option(expression),
        group: fc.option(column),
        order: fc.option(column),
        limit: fc.nat(20),
      })
      .map(({ list, where, group, order, limit }) =>
        [
          `select ${list.join(', ')} from steps`,
          where === null ? '' : `where ${where}`,
          group === null ? '' : `group by ${group}`,
          order === null ? '' : `order by ${order}`,
          `limit ${limit}`,
        ].join(' '),
      );
    await fc.assert(
      fc.asyncProperty(statement, async (query) => {
        const answer = await post({ query });
        expect([200, 400, 422], `${query} ${answer.body}`).toContain(answer.statusCode);
      }),
      { numRuns: 120 },
    );
  });
});

describe('limits', () => {
  const limited = async (limits: Parameters<typeof testApi>[0]['limits'], query: string) => {
    const api = await testApi({ store, ...(limits === undefined ? {} : { limits }) });
    const answer = await post({ query }, api);
    await api.close();
    const { code, detail } = answer.json<{ code?: string; detail?: string }>();
    return { status: answer.statusCode, code, limit: /its limit of ([a-z ]+);/.exec(detail ?? '')?.[1] };
  };

  it.each<[string, Parameters<typeof testApi>[0]['limits'], string]>([
    ['time', { maxSeconds: 1 }, 'select count() from numbers(10000000000) where sipHash64(number) = 1'],
    ['rows or bytes of the result', { maxRows: 10 }, 'select number from numbers(1000)'],
    ['bytes', { maxResultBytes: 1_000 }, "select repeat('x', 100) from numbers(1000)"],
    ['memory', { maxMemoryBytes: 20_000_000 }, 'select groupArray(toString(number)) from numbers(3000000)'],
    ['nesting', { maxSeconds: 30 }, 'with recursive t as (select 1 as n union all select n + 1 from t) select count() from t'],
  ])('of %s end a query', async (limit, limits, query) => {
    expect(await limited(limits, query)).toEqual({ status: 422, code: 'SQL_LIMIT', limit });
  });

  it('let inserts through while a query runs, and reject a query beyond the limit', async () => {
    const api = await testApi({ store, limits: { maxSeconds: 6, concurrency: 1, maxWaitMs: 50 } });
    let isOver = false;
    const slow = post({ query: 'select count() from numbers(10000000000) where sipHash64(number) = 1' }, api).then((answer) => {
      isOver = true;
      return answer.body;
    });
    await vi.waitFor(async () => {
      expect(await store.query('select count() > 1 as others from system.processes')).toEqual([{ others: 1 }]);
    }, 20_000);
    const turnedAway = await post({ query: 'select 1' }, api);
    expect(codeOf(turnedAway.body)).toBe('RATE_LIMITED');
    await store.insert('heartbeats', [{ run_id: 'run-z', worker_id: 'w' }], 'beat-beside-a-slow-query');
    expect(isOver).toBe(false);
    expect(await store.query("select count() as n from heartbeats where run_id = 'run-z'")).toEqual([{ n: 1 }]);
    expect(codeOf(await slow)).toBe('SQL_LIMIT');
    await api.close();
  });
});

describe('GET /v1/sql/tables', () => {
  it('lists the tables and views of the project with their columns, and nothing else', async () => {
    const answer = await server.app.inject('/v1/sql/tables');
    const { items } = answer.json<{ items: { table: string; columns: { name: string; type: string }[] }[] }>();
    expect(items.map(({ table }) => table)).toEqual(
      expect.arrayContaining(['turns', 'trajectories', 'steps', 'runs', 'lineage', 'tool_health']),
    );
    expect(items.find(({ table }) => table === 'steps')?.columns).toContainEqual({
      name: 'step',
      type: 'Int32',
      comment: expect.stringContaining('Number of the step') as string,
    });
    expect(answer.body).not.toContain('secrets');
    for (const { table, columns } of items) {
      const named = columns.map(({ name }) => name).join(', ');
      const read = await post({ query: `select ${named} from ${table} where isNull(${columns[0]?.name ?? ''}) order by ${named} limit 1` });
      expect(read.statusCode, read.body).toBe(200);
    }
    for (const { table } of items) expect((await post({ query: `select * from ${table} limit 1` })).statusCode).toBe(200);
  });
});
