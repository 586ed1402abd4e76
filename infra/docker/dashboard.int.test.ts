import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../clickhouse/client.ts';
import { migratedDatabase, startMigratedStore } from '../testing/migrated-store.ts';
import type { TestStore } from '../testing/store.ts';

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly rawSql?: string }[] }[];
}
const { templating, panels } = JSON.parse(readFileSync('infra/docker/grafana/dashboards/turnstream.json', 'utf8')) as Dashboard;
const RUNS = ['run-a', 'run-b'];

/** Expands variables and macros as Grafana and its ClickHouse data source do. */
const filledIn = (sql: string): string =>
  sql
    .replaceAll('${run:singlequote}', RUNS.map((run) => `'${run}'`).join(','))
    .replaceAll('${tool:singlequote}', "'search','access'")
    .replace(/\$__timeFilter\((\w+)\)/g, "$1 >= toDateTime('2026-01-01 00:00:00') AND $1 <= toDateTime('2026-12-31 00:00:00')");

describe('the panels that read the tables', () => {
  let engine: TestStore;
  let store: ClickHouseStore;
  beforeAll(async () => {
    engine = await startMigratedStore();
    store = connectStore({ url: engine.url, database: migratedDatabase });
    const at = Date.UTC(2026, 5, 1) * 1_000;
    await store.insert(
      'steps',
      RUNS.map((run_id, n) => ({ run_id, step: 1, at, reward_mean: n })),
      'steps-of-two-runs',
    );
    await store.insert(
      'turns',
      RUNS.map((run_id) => ({ run_id, trajectory_id: `${run_id}-t`, occurred_at: at, tool: 'search', tool_status: 'ok' })),
      'turns-of-two-runs',
    );
  });
  afterAll(async () => {
    await store.close();
    await engine.stop();
  });

  const statements = panels.flatMap(({ title, targets = [] }) =>
    targets.flatMap(({ rawSql }) => (rawSql === undefined ? [] : [{ title, rawSql }])),
  );

  it('are several', () => {
    expect(statements.length).toBeGreaterThanOrEqual(6);
  });

  it.each(statements)('draw two runs as two lines: $title', async ({ rawSql }) => {
    const rows = await store.query<Record<string, unknown>>(filledIn(rawSql));
    const lines = rows.map((row) => Object.values(row)[1]);
    expect(lines.map((line) => String(line).split(' ')[0]).sort()).toEqual(RUNS);
    for (const row of rows) expect(Object.keys(row)[0]).toBe('time');
  });

  it('offer the existing runs and tools', async () => {
    const offered = await Promise.all(templating.list.map(async ({ name, query }) => [name, await store.query(filledIn(query))]));
    expect(Object.fromEntries(offered)).toEqual({ run: RUNS.map((run_id) => ({ run_id })), tool: [{ tool: 'search' }] });
  });
});
