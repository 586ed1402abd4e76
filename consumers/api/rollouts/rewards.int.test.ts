// Attached rewards in the tables, read over HTTP: each once, with whether it came in time and was trained on.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore } from '../../../infra/clickhouse/client.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { storeLog } from '../../../infra/testing/api-story.ts';
import { outgoing, randomEvent, seeded } from '../../../infra/testing/events.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { finished, requested, rewarded } from '../../../infra/testing/rollout-events.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { StepCompleted } from '../../../schemas/generated/events.ts';
import type { Appended } from '../../../streams/core/ports.ts';

const ends: (() => Promise<unknown>)[] = [];
const random = seeded(11);
const log = new MemoryLog();
let server: HttpServer;

/** A step that trained on the two trajectories of g1; g2 is still open. */
function stepOf(): StepCompleted {
  const base = randomEvent('StepCompleted', random, { run_id: 'run-a', step: 1 });
  const [template] = base.trajectories;
  const kept = ['g1.0', 'g1.1'].map((trajectory_id) => ({ ...template!, group_id: 'g1', trajectory_id, attempt: 0 }));
  return { ...base, trajectories: kept };
}

const attach = (...[place, value, fields]: Parameters<typeof rewarded>): Promise<readonly Appended[]> =>
  log.writer().append([outgoing('RewardAttached', rewarded(place, value, fields))]);

beforeAll(async () => {
  const engine = await startMigratedStore();
  ends.push(() => engine.stop());
  const store = connectStore({ url: engine.url, database: migratedDatabase });
  ends.push(() => store.close());
  for (const trajectory of ['g1.0', 'g1.1', 'g2.0']) {
    const events = [
      outgoing('TrajectoryRequested', requested({ trajectory })),
      outgoing('TrajectoryFinished', finished({ trajectory }, 0.5)),
    ];
    await log.writer().append(events);
  }
  await attach({ trajectory: 'g1.0' }, 1, { identifier: 'a' });
  await attach({ trajectory: 'g1.0' }, 1, { identifier: 'a' });
  await attach({ trajectory: 'g1.0' }, 0.25, { name: 'style', turn: 0 });
  const [last] = await attach({ trajectory: 'g1.0', attempt: 1 }, 0.75);
  const groups = [{ group_id: 'g1', partition: last?.partition ?? -1, end: (last?.offset ?? -1) + 1 }];
  const counted = randomEvent('RewardsCounted', random, { run_id: 'run-a', names: ['human'], groups });
  await log.writer().append([outgoing('StepCompleted', stepOf()), outgoing('RewardsCounted', counted)]);
  await attach({ trajectory: 'g1.0' }, 9, { identifier: 'too late' });
  await attach({ trajectory: 'g2.0' }, 0.5);
  await storeLog(log, store);
  server = await testApi({ store, log });
  ends.push(() => server.close());
}, 300_000);

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

const get = async (url: string) => {
  const reply = await server.app.inject(url);
  return { status: reply.statusCode, body: reply.json<{ items: Record<string, unknown>[]; next_cursor: string | null; code?: string }>() };
};

describe('the rewards of a trajectory', () => {
  it('are listed once each, with whether they came in time and were trained on', async () => {
    const { body } = await get('/v1/trajectories/g1.0/rewards?run=run-a');
    expect(
      body.items.map(({ attempt, turn, name, identifier, value, in_time, late, counted }) => [
        attempt,
        turn,
        name,
        identifier,
        value,
        in_time,
        late,
        counted,
      ]),
    ).toEqual([
      [0, -1, 'human', 'a', 1, true, false, true],
      [0, -1, 'human', 'too late', 9, false, true, false],
      [0, 0, 'style', '', 0.25, true, false, false],
      [1, -1, 'human', '', 0.75, true, false, false],
    ]);
    const open = await get('/v1/trajectories/g2.0/rewards');
    expect(open.body.items).toMatchObject([{ value: 0.5, in_time: false, late: false, counted: false, source: 'test' }]);
  });

  it('are paged and filtered by attempt, empty for a trajectory without any, and 404 for an unknown one', async () => {
    const first = await get('/v1/trajectories/g1.0/rewards?limit=3');
    const rest = await get(`/v1/trajectories/g1.0/rewards?limit=3&cursor=${first.body.next_cursor ?? ''}`);
    expect([first.body.items.length, rest.body.items.length, rest.body.next_cursor]).toEqual([3, 1, null]);
    expect((await get('/v1/trajectories/g1.0/rewards?attempt=1')).body.items).toHaveLength(1);
    expect((await get('/v1/trajectories/g1.1/rewards')).body.items).toEqual([]);
    expect((await get('/v1/trajectories/g9.0/rewards')).status).toBe(404);
  });
});
