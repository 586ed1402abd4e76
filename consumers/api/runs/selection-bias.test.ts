import { afterEach, describe, expect, it } from 'vitest';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { createFakeStore, type RecordedStatement } from '../../../infra/testing/fake-store.ts';
import { biasColumns, biasFigureColumns, biasReasonColumns } from './selection-bias.columns.ts';

const open: HttpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function ask(query: string, answer: (asked: RecordedStatement) => readonly object[] = () => []) {
  const store = createFakeStore(answer);
  const server = await testApi({ store });
  open.push(server);
  const reply = await server.app.inject(`/v1/runs/run-a/selection-bias${query}`);
  return { status: reply.statusCode, body: reply.json<Record<string, unknown>>(), asked: store.asked, server };
}

const known = ({ sql }: RecordedStatement): readonly object[] => (sql.includes('as known') ? [{ known: 1 }] : []);

describe('selection bias', () => {
  it('binds the run, the range, and the reason, and reads only outcomes that match them', async () => {
    const { status, body, asked } = await ask('?from_step=2&to_step=9&reason=superseded', known);
    expect(status).toBe(200);
    expect(body).toEqual({ items: [], next_cursor: null, overall: null, by_reason: [] });
    const figures = asked.filter(({ sql }) => sql.includes('is_kept'));
    // the steps of the page
    expect(figures).toHaveLength(1);
    for (const { sql, params } of figures) {
      expect(params).toMatchObject({ run_id_is: 'run-a', step_least: 2, step_most: 9, reason_is: 'superseded' });
      expect(sql).not.toMatch(/run-a|superseded/);
      for (const condition of [
        'run_id = {run_id_is:String}',
        'step >= {step_least:Int32}',
        'step <= {step_most:Int32}',
        '(is_kept or reason = {reason_is:String})',
      ])
        expect(sql).toContain(condition);
    }
  });

  it('refuses an unknown reason, and finds no unknown run', async () => {
    const refused = await ask('?reason=boredom');
    expect(refused).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    expect(JSON.stringify(refused.body)).toContain('reason');
    expect(await ask('')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  it('reads only the newest steps again when outcomes are added to a long run', async () => {
    /** The step of each stored outcome, by offset. */
    const steps = Array.from({ length: 2_000 }, (_, i) => 1 + Math.floor(i / 2));
    const read: (readonly [first: number, last: number])[] = [];
    const blockOf = (step: number): number => Math.floor(step / 64);
    const store = createFakeStore((asked) => {
      const {
        first,
        last,
        step_trajectories_since: since,
      } = asked.params as {
        readonly first: number;
        readonly last: number;
        readonly step_trajectories_since?: readonly number[];
      };
      const added = steps.slice((since?.[0] ?? -1) + 1);
      const name = 'step_trajectories';
      if (asked.sql.includes('system.parts')) return [{ name, contents: String(steps.length), mutations: '', is_told: true }];
      if (asked.sql.includes('max(_offset)')) {
        const all = { name, partition: -1, end: -1, rows: steps.length };
        return [all, { ...all, partition: 0, end: steps.length - 1, rows: added.length }];
      }
      if (asked.sql.includes('select distinct intDiv')) return [...new Set(added.map(blockOf))].map((block) => ({ block }));
      if (!asked.sql.includes('groupArray(value)')) return known(asked);
      read.push([first, last]);
      const own = steps.filter((step) => step >= first && step <= last);
      return [...new Set(own.map(blockOf))].flatMap((block) => {
        const counts = [own.filter((step) => blockOf(step) === block).length];
        const row = { block, reason: '', values: [1], counts, flight_ms: counts[0] };
        return ['reward', 'turns', 'tokens', 'staleness'].map((figure) => ({ ...row, figure }));
      });
    });
    const server = await testApi({ store });
    open.push(server);
    const figures = async (query = ''): Promise<number> => {
      const reply = await server.app.inject(`/v1/runs/run-a/selection-bias${query}`);
      const { overall } = reply.json<{ readonly overall: Readonly<Record<string, number>> }>();
      const from = Number(/from_step=(\d+)/.exec(query)?.[1] ?? 0);
      expect(overall).toMatchObject({ kept: steps.filter((step) => step >= from).length, kept_reward_mean: 1, kept_staleness_mean: 1 });
      return read.length;
    };
    expect(await figures()).toBe(1);
    expect(await figures(), 'nothing was added').toBe(1);
    for (let step = 1_001; step <= 1_040; step += 1) {
      steps.push(step, step, step);
      expect(await figures()).toBe(step - 999);
    }
    expect(Math.max(...read.slice(1).map(([first, last]) => last - first)), 'steps that are read again').toBeLessThan(64);
    expect(await figures('?from_step=128')).toBe(41);
    expect(await figures('?from_step=100'), 'the part of a block').toBe(42);
    expect(read.at(-1)).toEqual([100, 127]);
    steps.pop();
    await figures();
    expect(read.at(-1), 'a deleted outcome makes everything be read again').toEqual([0, 1_087]);
  });

  it('is in the OpenAPI document with its filters and every column', async () => {
    const { server } = await ask('', known);
    const document = (await server.app.inject('/openapi.json')).body;
    const { paths, components } = JSON.parse(document) as {
      readonly paths: Record<string, { readonly get: { readonly parameters: readonly { readonly name: string }[] } }>;
      readonly components: { readonly schemas: Record<string, object> };
    };
    const { get } = paths['/v1/runs/{run}/selection-bias']!;
    expect(get.parameters.map(({ name }) => name).sort()).toEqual(['cursor', 'from_step', 'limit', 'reason', 'run', 'to_step']);
    const told = JSON.stringify(Object.entries(components.schemas).filter(([name]) => name.startsWith('SelectionBias')));
    for (const column of Object.keys({ ...biasColumns, ...biasFigureColumns, ...biasReasonColumns })) expect(told).toContain(`"${column}"`);
  });
});
