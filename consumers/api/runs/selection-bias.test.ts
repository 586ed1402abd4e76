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
  it('binds the run, the range and the reason, and asks only for outcomes that fulfil them', async () => {
    const { status, body, asked } = await ask('?from_step=2&to_step=9&reason=superseded', known);
    expect(status).toBe(200);
    expect(body).toEqual({ items: [], next_cursor: null, overall: null, by_reason: [] });
    const figures = asked.filter(({ sql }) => sql.includes('is_kept'));
    expect(figures).toHaveLength(2);
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

  it('knows no reason that there is not, and no run that nobody knows', async () => {
    const refused = await ask('?reason=boredom');
    expect(refused).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    expect(JSON.stringify(refused.body)).toContain('reason');
    expect(await ask('')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  it('makes the figures of a range once as long as no outcome is added', async () => {
    let discarded = 1;
    const side = { trajectories: 2, of_reason: false, is_kept: true, reason: '', reward_mean: 0.5 };
    const store = createFakeStore((asked) => {
      if (asked.sql.includes('grouping sets')) return [side];
      return asked.sql.includes('as discarded') ? [{ kept: 2, discarded }] : known(asked);
    });
    const server = await testApi({ store });
    open.push(server);
    const made = async (): Promise<number> => {
      const reply = await server.app.inject('/v1/runs/run-a/selection-bias');
      expect(reply.json()).toMatchObject({ overall: { kept: 2, kept_reward_mean: 0.5, discarded: 0, reward_ks: null } });
      return store.asked.filter(({ sql }) => sql.includes('grouping sets')).length;
    };
    expect([await made(), await made()]).toEqual([1, 1]);
    discarded = 2;
    expect(await made()).toBe(2);
  });

  it('is in the document with its filters and every column', async () => {
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
