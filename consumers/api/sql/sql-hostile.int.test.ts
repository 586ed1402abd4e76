import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seeded } from '../../../infra/testing/events.ts';
import { generateHostile, hostileParams } from '../../../infra/testing/hostile-sql.ts';
import { hostileStatements } from '../../../infra/testing/hostile-statements.ts';
import { codeOf, post, store } from './sql.testing.ts';

const contents = () =>
  store.query(
    "select database, name, total_rows from system.tables where database not in ('system', 'INFORMATION_SCHEMA', 'information_schema') order by database, name",
  );

describe('hostile statements', () => {
  it('are more than 200', () => {
    expect(new Set(hostileStatements).size).toBeGreaterThan(200);
  });

  it('are each refused, and change nothing', async () => {
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
  ])('%s is refused with the name of the part', async (query, part) => {
    const answer = await post({ query });
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({ code: 'SQL_REFUSED', detail: expect.stringContaining(part) as string });
  });

  it('are answered from the list of tables when they only list or describe tables', async () => {
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

  it('are refused anywhere inside a harmless statement', async () => {
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
  it('read nothing outside the database, cause no internal error, and are refused where the generator is certain', async () => {
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
  });
});
