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
    // the steps of the page; the state of the range, twice because older steps are kept; counts and sums
    expect(figures).toHaveLength(5);
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

  it('reads only the newest steps again when outcomes are added to a long run', async () => {
    const steps = new Map(Array.from({ length: 1_000 }, (_, i) => [i + 1, 2]));
    const read: (readonly [from: number, to: number])[] = [];
    const total = (from: number, to = Infinity): number =>
      [...steps].reduce((sum, [step, n]) => (step >= from && step < to ? sum + n : sum), 0);
    const store = createFakeStore((asked) => {
      const { before, from } = asked.params as { readonly before: number; readonly from: number };
      const newest = Math.max(...steps.keys());
      if (asked.sql.includes('as newest')) return [{ newest, sealed: total(-Infinity, before), total: total(-Infinity) }];
      const sides = [
        { is_sealed: true, reason: '', n: total(from, before) },
        { is_sealed: false, reason: '', n: total(Math.max(from, before)) },
      ];
      if (asked.sql.includes('as measure')) return sides.map((side) => ({ ...side, metric: 'reward', value: 1 }));
      if (!asked.sql.includes('sum(flight_ms)')) return known(asked);
      read.push([from, newest]);
      return sides.map((side) => ({ ...side, staleness: side.n, flight_ms: side.n }));
    });
    const server = await testApi({ store });
    open.push(server);
    const figures = async (): Promise<number> => {
      const reply = await server.app.inject('/v1/runs/run-a/selection-bias');
      const { overall } = reply.json<{ readonly overall: Readonly<Record<string, number>> }>();
      expect(overall).toMatchObject({ kept: total(-Infinity), kept_reward_mean: 1, kept_staleness_mean: 1 });
      return read.length;
    };
    expect(await figures()).toBe(1);
    expect(await figures(), 'nothing was added').toBe(1);
    for (let step = 1_001; step <= 1_400; step += 1) {
      steps.set(step, 3);
      expect(await figures()).toBe(step - 999);
    }
    const widest = Math.max(...read.slice(1).map(([from, to]) => to - from));
    expect(widest, 'steps that are read again').toBeLessThan(200);
    steps.set(5, 1);
    await figures();
    expect(read.at(-1)?.[0], 'a deleted older outcome makes everything be read again').toBeLessThan(0);
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
