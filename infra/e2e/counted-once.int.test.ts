// Duplicates in the log count once: in every view of the tables, in REST responses and in the terminal. Canceled and failed attempts do not
// count as answers.
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { RepeatKeeper, repeatingTables } from '../../consumers/warehouse/keep-repeats.ts';
import { createLoad } from '../../producers/load/load.ts';
import { defaultShape } from '../../producers/load/shape.ts';
import type { OutgoingEvent, Row } from '../../streams/core/ports.ts';
import { listRuns, summaryOf } from '../cli/status/run-summary.ts';
import { storyEvents, storyRun } from '../testing/api-story.ts';
import { outgoing } from '../testing/events.ts';
import { finished, requested, started, turn } from '../testing/rollout-events.ts';
import { migratedDatabase, startMigratedStore } from '../testing/migrated-store.ts';
import type { TestStore } from '../testing/store.ts';
import { newToldWorld, type ToldWorld } from '../testing/told-world.ts';
import type { JsonObject } from '../testing/json.ts';

const open: { readonly world: ToldWorld; readonly engine: TestStore }[] = [];

afterEach(async () => {
  for (const { world, engine } of open.splice(0)) {
    await world.store.close();
    await engine.stop();
  }
});

async function newWorld(): Promise<ToldWorld> {
  const engine = await startMigratedStore();
  const world = await newToldWorld(engine.url, migratedDatabase);
  open.push({ world, engine });
  return world;
}

/** The position of a record, which is not part of its content. */
const placeColumns = new Set(['_topic', '_partition', '_offset', '_timestamp']);
/** Sums may differ in their last digits, because the order of addition differs. */
const rounded = (_: string, value: unknown): unknown => (typeof value === 'number' ? Number(value.toPrecision(9)) : value);
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value, rounded));
const said = (row: object): string =>
  JSON.stringify(
    Object.entries(row).filter(([name]) => !placeColumns.has(name)),
    rounded,
  );

async function viewsOf({ store }: ToldWorld): Promise<Record<string, readonly string[]>> {
  const views = await store.query<{ name: string }>(
    "select name from system.tables where database = currentDatabase() and engine = 'View' and not match(name, '^repeated_|_records$') order by name",
  );
  expect(views.length).toBeGreaterThan(10);
  const shown: Record<string, readonly string[]> = {};
  for (const { name } of views) shown[name] = (await store.query<JsonObject>(`select * from ${name}`)).map(said).sort();
  return shown;
}

const perRun = [
  ...['', '/steps', '/steps/2', '/staleness', '/tools', '/tools?since_step=2', '/policies', '/discarded', '/curves', '/selection-bias'],
  ...[
    '/spreads',
    '/trajectories',
    '/lineage',
    '/tool-calls',
    '/lengths',
    '/workers',
    '/questions',
    '/wall-clock',
    '/cost',
    `/compare?with=${storyRun}`,
  ],
];

async function answersOf(world: ToldWorld, runs: readonly string[]): Promise<Record<string, unknown>> {
  const lists = ['/v1/runs', '/v1/questions', '/v1/evaluations', '/v1/evaluations/eval-1/scores', '/v1/dead-letters'];
  const urls = [...lists, ...runs.flatMap((run) => perRun.map((path) => `/v1/runs/${run}${path}`))];
  const found = await world.get(urls);
  const shown = found.map(({ status, body }) => {
    const items = Array.isArray(body['items']) ? (body['items'] as object[]).map(said) : plain({ ...body, request_id: '' });
    return { status, next: typeof body['next_cursor'], items };
  });
  return Object.fromEntries(urls.map((url, at) => [url, shown[at]]));
}

const terminalOf = async ({ store }: ToldWorld): Promise<unknown> => plain([await listRuns(store), await summaryOf(store, storyRun)]);

async function keepRepeats({ store }: ToldWorld): Promise<void> {
  for (const table of repeatingTables) await new RepeatKeeper({ store }, table).round();
}

const loadRun = 'load-a';

function loadEvents(seed: number): readonly OutgoingEvent[] {
  const shape = { ...defaultShape, faults: 0.3, versionMs: 2_000, turnBytes: 400 };
  const options = { runId: loadRun, purpose: 'train', seed, producer: 'load/1', startMs: 1_700_000_000_000, shape } as const;
  const load = createLoad({ ...options, trajectories: 16, turns: Infinity, open: 2, places: 4 });
  const events: OutgoingEvent[] = [];
  for (let event = load.next(); event !== undefined; event = load.next()) events.push(event);
  return events;
}

/** Leaves out the records that the load itself repeats. */
const once = (events: readonly OutgoingEvent[]): readonly OutgoingEvent[] => [
  ...new Map(events.map((event) => [`${event.type} ${event.event.event_id}`, event])).values(),
];

describe('an event that is written twice', () => {
  it('counts once in every view, every answer and the terminal', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000), fc.integer({ min: 1, max: 9 }), async (seed, every) => {
        const world = await newWorld();
        const events = [...storyEvents(), ...once(loadEvents(seed))];
        await world.tell(events);
        const look = async () => ({
          views: await viewsOf(world),
          answers: await answersOf(world, [storyRun, loadRun]),
          terminal: await terminalOf(world),
        });
        const before = await look();
        const assertSame = async (): Promise<void> => {
          const after = await look();
          for (const [name, rows] of Object.entries(before.views)) expect({ name, rows: after.views[name] }).toEqual({ name, rows });
          expect(after.answers).toEqual(before.answers);
          expect(after.terminal).toEqual(before.terminal);
        };
        await world.tell(events);
        await assertSame();
        // from here on, some repeats are in the tables of repeats, and others are not yet
        await keepRepeats(world);
        await world.tell(events.filter((_, at) => (at + seed) % every === 0));
        await assertSame();
      }),
      { numRuns: 2 },
    );
  }, 600_000);

  it.each([
    ['staleness', 'staleness_by_step'],
    ['spreads', 'step_spreads'],
  ])('has the figures of the view on every page of /%s', async (list, view) => {
    const world = await newWorld();
    await world.tell(storyEvents());
    const rows = await world.store.query<JsonObject>(`select * from ${view} where run_id = '${storyRun}' order by step`);
    const walked: JsonObject[] = [];
    let cursor = '';
    do {
      const [page] = await world.get([`/v1/runs/${storyRun}/${list}?limit=1${cursor}`]);
      walked.push(...(page?.body['items'] as JsonObject[]));
      const next = page?.body['next_cursor'] as string | null;
      cursor = next === null ? '' : `&cursor=${next}`;
    } while (cursor !== '');
    expect(walked.length).toBeGreaterThan(1);
    const shown = Object.keys(walked[0] ?? {}).filter((name) => name !== 'at');
    const figures = (row: JsonObject): unknown => plain(shown.map((name) => [name, row[name]]));
    expect(walked.map(figures)).toEqual(rows.map(figures));
  });

  it('has one row per record in the tables, and the first of them counts', async () => {
    const world = await newWorld();
    const place = { trajectory: 'g.0', run: 'r' };
    const turns = [1, 2].map((sequence) => outgoing('TurnRecorded', turn({ ...place, sequence }, 0)));
    await world.tell(turns);
    await world.tell([turns[1]!, turns[1]!]);
    const { store } = world;
    expect(await store.query('select count() as n from turns')).toEqual([{ n: 4 }]);
    expect(await store.query('select turn, _offset from repeated_turns order by _offset')).toEqual([
      { turn: 1, _offset: 2 },
      { turn: 1, _offset: 3 },
    ]);
    expect(await store.query('select count() as n, max(_offset) as last from tool_calls')).toEqual([{ n: 2, last: 1 }]);
  });
});

describe('an attempt that was cancelled', () => {
  const run = 'stopped';
  const id = (number: number): string => `${run}-g${number}.0`;
  const versions = (number: number) => ({ version_first: number % 8, version_last: number % 8 });

  /** Eight questions that are answered correctly, ten times each. */
  const right = Array.from({ length: 80 }, (_, number) => {
    const place = { trajectory: id(number), run };
    const question_id = `q-${number % 8}`;
    return [
      outgoing('TrajectoryRequested', requested(place, { question_id })),
      outgoing('TrajectoryStarted', started({ ...place, sequence: 0 }, { question_id })),
      outgoing('TurnRecorded', turn({ ...place, sequence: 1 }, number % 8, { question_id })),
      outgoing('TrajectoryFinished', finished({ ...place, sequence: 2 }, 1, { question_id, ...versions(number) })),
    ];
  }).flat();

  /** The records of attempts that ended without a turn, for example because of Ctrl-C. */
  const stopped = (status: string) =>
    Array.from({ length: 16 }, (_, number) => {
      const place = { trajectory: `${run}-${status}-g${number}.0`, run };
      const question_id = `q-${number % 8}`;
      const none = { status, answer: '', turns: 0, tool_calls: 0, completion_tokens: 0, version_first: -1, version_last: -1 };
      return [
        outgoing('TrajectoryRequested', requested(place, { question_id })),
        outgoing('TrajectoryStarted', started({ ...place, sequence: 0 }, { question_id })),
        outgoing('TrajectoryFinished', finished({ ...place, sequence: 1 }, 0, { question_id, ...none })),
      ];
    }).flat();

  const expired = (world: ToldWorld, rows: readonly object[]) => world.store.insert('expired_attempts', rows as readonly Row[], 'expired');

  it('does not count as an answer: no flip, no length, no cost, and not lost', async () => {
    const world = await newWorld();
    await world.tell(right);
    const get = async (path: string): Promise<JsonObject> => (await world.get([`/v1/runs/${run}${path}`]))[0]?.body ?? {};
    const reports = async () => [await get('/questions'), await get('/lengths'), await get('/cost')] as const;
    const before = await reports();
    const [questions, lengths, costs] = before.map(({ items }) => items as JsonObject[]);
    expect(questions).toHaveLength(8);
    for (const question of questions ?? []) expect(question).toMatchObject({ tries: 10, outcome: 'always', flips: 0 });
    expect(lengths).toMatchObject([{ turns: 1, early: 20, late: 20, early_reward: 1, late_reward: 1 }]);
    expect(costs?.map(({ version }) => version)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);

    await world.tell([...stopped('cancelled'), ...stopped('failed')]);
    const given = Array.from({ length: 16 }, (_, number) => ({
      ...{ run_id: run, trajectory_id: `${run}-cancelled-g${number}.0`, attempt: 0, reason: 'unusable', next_attempt: 1 },
      ...{ sequence: number, _topic: 'training', _partition: 0, _offset: number },
    }));
    await expired(world, given);
    expect(await reports()).toEqual(before);
    expect((await get('/workers'))['items']).toMatchObject([
      { started: 112, finished: 80, failed: 16, cancelled: 16, lost: 0, running: 0, late: 0, reward_mean: 1 },
    ]);
  });

  it('is counted apart from lost, late, and running ones', async () => {
    const world = await newWorld();
    const begun = [0, 1, 2].map((number) => outgoing('TrajectoryStarted', started({ trajectory: id(number), run, sequence: 0 })));
    await world.tell([...begun, outgoing('TrajectoryFinished', finished({ trajectory: id(2), run, sequence: 1 }, 1))]);
    const rows = [1, 2].map((number) => ({
      ...{ run_id: run, trajectory_id: id(number), attempt: 0, reason: 'silent', next_attempt: 1, sequence: number },
      ...{ _topic: 'training', _partition: 0, _offset: number },
    }));
    await expired(world, rows);
    const [answer] = await world.get([`/v1/runs/${run}/workers`]);
    expect(answer?.body['items']).toMatchObject([{ started: 3, finished: 1, lost: 1, late: 1, running: 1, failed: 0, cancelled: 0 }]);
  });
});
