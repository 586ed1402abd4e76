// Fates of samples that the ledger rarely records: every route returns the same fate.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore } from '../../../infra/clickhouse/client.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { collectedRun, RARE, rewoundRun, seedRareFates } from '../../../infra/testing/dashboard-ledger.ts';
import { longRun } from '../../../infra/testing/dashboard-world.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';

const ends: (() => Promise<unknown>)[] = [];
let server: HttpServer;

beforeAll(async () => {
  const engine = await startMigratedStore();
  ends.push(() => engine.stop());
  const store = connectStore({ url: engine.url, database: migratedDatabase });
  ends.push(() => store.close());
  await seedRareFates(store);
  server = await testApi({ store });
  ends.push(() => server.close());
}, 300_000);

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

interface ListedFate {
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly fate: string;
  readonly fate_step: number;
  readonly fate_reason: string;
  readonly fate_reward: number | null;
  readonly advantage: number | null;
}
interface FlowOfFates {
  readonly ids: readonly string[];
  readonly fates: readonly string[];
  readonly reasons: readonly string[];
  readonly columns: Readonly<Record<string, readonly number[]>>;
}

const get = async <T>(url: string): Promise<T> => (await server.app.inject(url)).json<T>();
const listed = async (run: string, query = ''): Promise<readonly ListedFate[]> =>
  (await get<{ items: readonly ListedFate[] }>(`/v1/runs/${run}/trajectories?limit=1000&fields=trajectory_id,attempt,fate${query}`)).items;

/** How many attempts have each fate and reason. */
function counted(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

describe.each([
  [collectedRun, { 'collected ': RARE }],
  [rewoundRun, { 'trained ': RARE / 2, 'discarded rewound': RARE / 2 }],
  [longRun, { 'trained ': RARE, 'lost silent': RARE }],
])('the samples of %s', (run, fates) => {
  it('have their fate in the list', async () => {
    const rows = await listed(run);
    expect(counted(rows.map(({ fate, fate_reason }) => `${fate} ${fate_reason}`))).toEqual(fates);
    for (const row of rows) {
      const isOfStep = row.fate !== 'lost';
      expect(row).toMatchObject(isOfStep ? { advantage: 0.25, fate_reward: 0.5 } : { advantage: null, fate_reward: null, fate_step: -1 });
    }
  });

  it('are each found by exactly one fate', async () => {
    const found = await Promise.all(
      ['trained', 'collected', 'discarded', 'lost', 'open'].map(async (fate) => {
        const rows = await listed(run, `&fate=${fate}`);
        expect(rows.filter((row) => row.fate !== fate)).toEqual([]);
        return rows.length;
      }),
    );
    expect(found.reduce((sum, one) => sum + one, 0)).toBe((await listed(run)).length);
  });

  it('have the same fate in the flow', async () => {
    const flow = await get<FlowOfFates>(`/v1/runs/${run}/flow?limit=1000`);
    const names = flow.ids.map((_, at) => {
      const of = (column: string): number => flow.columns[column]?.[at] ?? -1;
      return `${flow.fates[of('fate')] ?? ''} ${flow.reasons[of('reason')] ?? ''}`;
    });
    expect(counted(names)).toEqual(fates);
    const { columns } = await get<Pick<FlowOfFates, 'columns'>>(`/v1/runs/${run}/flow/merged`);
    const ofFlow = counted(flow.ids.map((_, at) => flow.fates[flow.columns['fate']?.[at] ?? -1] ?? ''));
    for (const fate of ['trained', 'collected', 'discarded', 'lost', 'open'])
      expect([fate, (columns[fate] ?? []).reduce((sum, one) => sum + one, 0)]).toEqual([fate, ofFlow[fate] ?? 0]);
  });
});

it('trajectories have their fate in their report, with and without the run in the request', async () => {
  for (const query of ['', `?run=${rewoundRun}`]) {
    expect(await get(`/v1/trajectories/${rewoundRun}-f4.0${query}`)).toMatchObject({ training: [{ step: 5 }], rewound: [] });
    expect(await get(`/v1/trajectories/${rewoundRun}-f14.0${query}`)).toMatchObject({
      training: [{ step: 15 }],
      rewound: [{ attempt: 0, step: 15, version: RARE + 1, to_version: 10, at: expect.stringContaining('T12:00:00') as string }],
    });
  }
  expect(await get(`/v1/trajectories/${collectedRun}-f3.0`)).toMatchObject({ training: [], collected: [{ batch: 4, advantage: 0.25 }] });
  expect(await get(`/v1/trajectories/${longRun}-f3.0`)).toMatchObject({
    attempts: [{ expired_reason: 'silent', expired_at: expect.stringContaining('T09:00:00') as string, status: 'answered' }, {}],
    training: [{ attempt: 1, step: 703 }],
    discarded: [],
  });
});
