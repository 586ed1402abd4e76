import { describe, expect, it } from 'vitest';
import { createFakeStore, type RecordedStatement } from '../../../infra/testing/fake-store.ts';
import { testLimits } from '../../../infra/testing/api.ts';
import { PlatformError, type ErrorCode } from '../../../streams/core/errors.ts';
import { createSandbox } from './sandbox.ts';

const tree = [
  'SelectWithUnionQuery (children 1)',
  ' ExpressionList (children 1)',
  '  SelectQuery (children 1)',
  '   ExpressionList (children 1)',
  '    Literal UInt64_1',
];
const ordinary = ({ sql, params }: RecordedStatement): readonly object[] => {
  if (sql.includes('formatQuerySingleLine')) return [{ q: params['q'], version: '1' }];
  if (sql.includes('system.functions')) return [{ version: '1', functions: ['file'], names: ['turns'], foreign: ['system'] }];
  return sql.startsWith('explain ast') ? tree.map((explain) => ({ explain })) : [{ one: 1 }];
};
const request = { query: 'SELECT 1', params: { a: 1 }, format: 'JSONEachRow' } as const;
const refused = (code: ErrorCode, clickhouseCode?: number, said = 'Code: 1. DB::Exception: no') =>
  new PlatformError(code, `querying at http://secret: ${said}`, { context: { clickhouseCode }, cause: new Error(said) });

describe('the sandbox', () => {
  it('runs exactly the statement that it checked, with the limits and bound values', async () => {
    const store = createFakeStore(ordinary);
    expect((await createSandbox(store, testLimits).run(request)).toString()).toBe('{"one":1}\n');
    expect(store.asked.map(({ sql }) => sql)).toEqual([
      'select formatQuerySingleLine({q:String}) as q, version() as version',
      expect.stringContaining('system.functions'),
      'explain ast SELECT 1',
      'SELECT 1',
    ]);
    expect(store.asked[2]?.params).toEqual({ a: 1 });
    expect(store.asked[3]).toMatchObject({
      params: { a: 1 },
      settings: { readonly: 1, max_execution_time: 5, max_result_rows: 10_000, result_overflow_mode: 'throw' },
    });
  });

  it('refuses a setting that limits queries when EXPLAIN exceeds it, and rate-limits any other statement', async () => {
    const store = createFakeStore((asked) => {
      if (asked.sql.startsWith('explain ast')) throw refused('STORE_UNAVAILABLE', 202);
      return ordinary(asked);
    });
    const run = (query: string) => createSandbox(store, testLimits).run({ ...request, query });
    await expect(run('SELECT 1 SETTINGS max_concurrent_queries_for_user = 1')).rejects.toMatchObject({ code: 'SQL_REFUSED' });
    await expect(run('SELECT 1')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });

  it('gives two threads to a query that is alone, and one to each of several', async () => {
    const store = createFakeStore(ordinary);
    const sandbox = createSandbox(store, { ...testLimits, concurrency: 2 });
    await Promise.all([sandbox.run(request), sandbox.run(request)]);
    await sandbox.run(request);
    const threads = store.asked.filter(({ sql }) => sql === 'SELECT 1').map(({ settings }) => settings['max_threads']);
    expect(threads).toEqual([1, 1, 2]);
  });

  it('runs nothing of what it refuses', async () => {
    const store = createFakeStore(ordinary);
    await expect(createSandbox(store, testLimits).run({ ...request, query: 'DROP TABLE turns' })).rejects.toMatchObject({
      code: 'SQL_REFUSED',
    });
    expect(store.asked).toHaveLength(2);
    const strange = createFakeStore((asked) => (asked.sql.startsWith('explain ast') ? [{ explain: 'SomethingNew' }] : ordinary(asked)));
    await expect(createSandbox(strange, testLimits).run(request)).rejects.toMatchObject({ code: 'SQL_REFUSED' });
    expect(strange.asked).toHaveLength(3);
    await expect(createSandbox(createFakeStore(), testLimits).run(request)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(createSandbox(store, testLimits).run({ ...request, query: 'x'.repeat(100_001) })).rejects.toMatchObject({
      code: 'SQL_REFUSED',
    });
  });

  it('stops reading a result that is too large', async () => {
    const store = createFakeStore((asked) => (asked.sql === 'SELECT 1' ? [{ a: 'x'.repeat(100) }] : ordinary(asked)));
    await expect(createSandbox(store, { ...testLimits, maxResultBytes: 50 }).run(request)).rejects.toMatchObject({ code: 'SQL_LIMIT' });
  });

  it.each<[string, unknown, string]>([
    ['a syntax error', refused('STORE_REFUSED', 62), 'SQL_INVALID'],
    ['an unknown table', refused('STORE_REFUSED', 60), 'SQL_INVALID'],
    ['no code', refused('STORE_REFUSED'), 'SQL_INVALID'],
    ['too much time', refused('STORE_REFUSED', 159), 'SQL_LIMIT'],
    ['too many rows', refused('STORE_REFUSED', 396), 'SQL_LIMIT'],
    ['too much memory, which is no outage', refused('STORE_FULL', 241), 'SQL_LIMIT'],
    ['too many queries', refused('STORE_UNAVAILABLE', 202), 'RATE_LIMITED'],
    ['two statements', refused('STORE_REFUSED', 62, 'Syntax error (Multi-statements are not allowed)'), 'SQL_REFUSED'],
    ['an outage', refused('STORE_UNAVAILABLE'), 'STORE_UNAVAILABLE'],
    ['a full disk', refused('STORE_FULL', 243), 'STORE_FULL'],
  ])('converts %s of the engine into the error for the user', async (_what, error, code) => {
    const store = createFakeStore(() => {
      throw error;
    });
    const outcome = createSandbox(store, testLimits).run(request);
    await expect(outcome).rejects.toMatchObject({ code });
    if (code.startsWith('SQL_')) await expect(outcome).rejects.not.toThrow('secret');
  });

  it('gives advice, without the list of tokens that the engine expects', async () => {
    const said = async (code: number, words: string): Promise<string> => {
      const store = createFakeStore(() => {
        throw refused('STORE_REFUSED', code, words);
      });
      return createSandbox(store, testLimits)
        .run(request)
        .then(String, (error: unknown) => (error as Error).message);
    };
    expect(await said(62, `Syntax error: failed at 1. Expected one of: ${'SELECT, '.repeat(100)}`)).toBe(
      'running the query: ClickHouse says: Syntax error: failed at 1.',
    );
    expect(await said(62, 'Syntax error. Expected one of: end')).toContain('Expected one of: end');
    expect(await said(60, 'Unknown table x.')).toContain('GET /v1/sql/tables');
    expect(await said(456, 'Substitution `a` is not set.')).toContain('params');
  });

  it('passes an unexpected error on unchanged', async () => {
    const store = createFakeStore(() => {
      throw new TypeError('bug');
    });
    await expect(createSandbox(store, testLimits).run(request)).rejects.toThrow(TypeError);
  });
});
