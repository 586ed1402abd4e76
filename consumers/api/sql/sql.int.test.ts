import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../../infra/clickhouse/client.ts';
import { migrate } from '../../../infra/clickhouse/migrate.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { tellStory } from '../../../infra/testing/api-story.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { seeded } from '../../../infra/testing/events.ts';
import { generateHostile, hostileParams } from '../../../infra/testing/hostile-sql.ts';
import { hostileStatements, legitimateStatements } from '../../../infra/testing/sql-statements.ts';
import { startTestStore, type TestStore } from '../../../infra/testing/store.ts';
import { formatNames } from './formats.ts';

let engine: TestStore;
let store: ClickHouseStore;
let server: HttpServer;

beforeAll(async () => {
  engine = await startTestStore();
  store = connectStore({ url: engine.url, database: 'turnstream' });
  await migrate(store);
  await store.command('create database other');
  await store.command('create table other.secrets (run_id String) engine = MergeTree order by run_id');
  await store.command("insert into other.secrets select 'run-a'");
  const log = new MemoryLog();
  await tellStory(log, store);
  server = await testApi({ store, log });
});

afterAll(async () => {
  await server.close();
  await store.close();
  await engine.stop();
});

const post = (payload: object, on = server) => on.app.inject({ method: 'POST', url: '/v1/sql', payload });
const codeOf = (body: string): string => (JSON.parse(body) as { code: string }).code;
const contents = () =>
  store.query(
    "select database, name, total_rows from system.tables where database not in ('system', 'INFORMATION_SCHEMA', 'information_schema') order by database, name",
  );

describe('hostile statements', () => {
  it('are many', () => {
    expect(new Set(hostileStatements).size).toBeGreaterThan(200);
  });

  it('are each refused, and change nothing', { timeout: 240_000 }, async () => {
    const before = await contents();
    for (const query of hostileStatements) {
      const answer = await post({ query, params: { table: 'users', database: 'system', column: 'name' } });
      const what = `${query.slice(0, 120)} => ${answer.statusCode} ${answer.body.slice(0, 300)}`;
      expect(answer.statusCode, what).toBeGreaterThanOrEqual(400);
      expect(answer.statusCode, what).toBeLessThan(500);
      expect(['SQL_REFUSED', 'SQL_INVALID', 'SQL_LIMIT', 'REQUEST_INVALID'], what).toContain(codeOf(answer.body));
      expect(answer.body, what).not.toMatch(/root:|DB::Exception: |127\.0\.0\.1:\d+ answered/);
    }
    expect(await contents()).toEqual(before);
  });

  it.each([
    ['select 1; select 2', 'a second statement'],
    ['insert into turns select * from turns', 'an INSERT statement'],
    ['system flush logs', 'a SYSTEM statement'],
    ["select * from file('/etc/passwd')", 'the function "file"'],
    ["select url('x')", 'the function "url"'],
    ['select * from system.users', '"system.users" outside this database'],
    ['select 1 settings max_threads = 1', 'a SETTINGS clause'],
    ['select 1 settings output_format_json_array_of_rows = 1', 'a SETTINGS clause'],
    ["select 1 into outfile 'x'", 'INTO OUTFILE'],
    ['select 1 parallel with select 2', 'a ParallelWithQuery statement'],
  ])('%s names the part', async (query, part) => {
    const answer = await post({ query });
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({ code: 'SQL_REFUSED', detail: expect.stringContaining(part) as string });
  });

  it('are answered from the list of tables when they ask for nothing else', async () => {
    const shown = async (query: string): Promise<string> => {
      const answer = await post({ query, params: { database: 'other', table: 'secrets' }, format: 'TSV' });
      expect(answer.statusCode, answer.body).toBe(200);
      return answer.body;
    };
    const names = (text: string): readonly string[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split('\t')[0] ?? '');
    const tables = names(await shown(' Show\tTables ; '));
    expect(tables).toEqual(expect.arrayContaining(['turns', 'steps', 'tool_calls']) as string[]);
    expect(tables).not.toContain('secrets');
    for (const query of ['describe steps', 'DESC TABLE steps;', 'show columns from steps']) {
      expect(await shown(query)).toContain('\nreward_mean\tFloat64\tMean reward of the trajectories\n');
    }
    expect(new Set(names(await shown('SHOW COLUMNS')))).toEqual(new Set(tables));
    expect((await post({ query: 'describe secrets' })).json()).toMatchObject({ code: 'SQL_INVALID' });
  });

  it('are refused wherever a harmless statement can hold them', async () => {
    const holders = [
      (inner: string) => `select * from (${inner})`,
      (inner: string) => `select 1 where 1 in (${inner})`,
      (inner: string) => `with x as (${inner}) select * from x`,
      (inner: string) => `select (${inner})`,
      (inner: string) => `select 1 as a union all (${inner})`,
      (inner: string) => `select * from turns as t left join (${inner}) as j on 1`,
      (inner: string) => `select if(1, (${inner}), null) from steps`,
      (inner: string) => `select arrayMap(x -> (${inner}), [1])`,
      (inner: string) => `select 1 order by (${inner})`,
      (inner: string) => `select count() from steps group by (${inner})`,
      (inner: string) => `select sum(step) over (partition by (${inner})) from steps`,
      (inner: string) => `select 1 having exists (${inner})`,
      (inner: string) => `/* c */ ${inner.replaceAll(' ', '\n')} -- d`,
    ];
    const cores = [
      "select * from file('/etc/passwd', 'LineAsString')",
      "select file('/etc/passwd')",
      'select * from other.secrets',
      'select * from system.users',
      'select hostName()',
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...cores), fc.array(fc.constantFrom(...holders), { maxLength: 4 }), async (core, path) => {
        const query = path.reduce((inner, holder) => holder(inner), core);
        const answer = await post({ query });
        expect(answer.statusCode, query).toBeGreaterThanOrEqual(400);
        expect(answer.statusCode, `${query} ${answer.body}`).toBeLessThan(500);
      }),
      { numRuns: 80 },
    );
  });
});

describe('generated hostile statements', () => {
  it(
    'read nothing outside and fail for no reason of ours, and are refused where nothing is left to chance',
    { timeout: 240_000 },
    async () => {
      const secret = 'other.secrets';
      const before = await contents();
      const statements = generateHostile(seeded(5), secret);
      for (let left = 200; left > 0; left -= 1) {
        const { query, refused } = statements.next().value;
        const answer = await post({ query, params: hostileParams(secret) });
        const what = `${query} => ${answer.statusCode} ${answer.body.slice(0, 300)}`;
        expect(answer.statusCode, what).toBeLessThan(500);
        expect(answer.body, what).not.toMatch(/root:[x*]?:0:/);
        if (refused) expect(answer.statusCode, what).toBeGreaterThanOrEqual(400);
      }
      expect(await contents()).toEqual(before);
    },
  );
});

describe('legitimate statements', () => {
  it.each(legitimateStatements.map(({ query, params }) => [query, params]))('%s', async (query, params) => {
    const answer = await post({ query, ...(params === undefined ? {} : { params }) });
    expect(answer.statusCode, answer.body).toBe(200);
    expect(Array.isArray(answer.json<{ data: unknown }>().data)).toBe(true);
  });

  it('bind their values as they are', async () => {
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

  it('never fail for a reason of ours', async () => {
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

  it('let inserts through while a query runs, and turn away who comes on top', async () => {
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
