import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { migrate } from '../../infra/clickhouse/migrate.ts';
import type { HttpServer } from '../../infra/http/server.ts';
import { storyRun, tellStory } from '../../infra/testing/api-story.ts';
import { testApi } from '../../infra/testing/api.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { startTestStore, type TestStore } from '../../infra/testing/store.ts';
import { HEAVY } from './columns.ts';

type Json = Record<string, unknown>;

let engine: TestStore;
let store: ClickHouseStore;
let server: HttpServer;
let schemas: Record<string, Json>;
let components: Record<string, Schema>;

beforeAll(async () => {
  engine = await startTestStore();
  store = connectStore({ url: engine.url, database: 'turnstream' });
  await migrate(store);
  const log = new MemoryLog();
  await tellStory(log, store);
  server = await testApi({ store, log });
  const document = (await server.app.inject('/openapi.json')).json<{
    paths: Record<string, Json>;
    components: { schemas: typeof components };
  }>();
  schemas = document.paths;
  components = document.components.schemas;
});

afterAll(async () => {
  await server.close();
  await store.close();
  await engine.stop();
});

async function get(url: string): Promise<Json> {
  const answer = await server.app.inject(url);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<Json>();
}
const itemsOf = async (url: string) => (await get(url))['items'] as Json[];
const run = `/v1/runs/${storyRun}`;

/** Every page of a list, by following its cursors. */
async function allPages(url: string, limit: number): Promise<Json[]> {
  const rows: Json[] = [];
  let cursor = '';
  for (;;) {
    const page = await get(`${url}${url.includes('?') ? '&' : '?'}limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    rows.push(...(page['items'] as Json[]));
    if (typeof page['next_cursor'] !== 'string') return rows;
    cursor = page['next_cursor'];
  }
}

describe('lists', () => {
  it.each([
    ['/v1/runs', 1],
    [`${run}/steps`, 3],
    [`${run}/steps?order=desc`, 3],
    [`${run}/staleness`, 3],
    [`${run}/policies`, 3],
    [`${run}/discarded`, 6],
    [`${run}/selection-bias`, 3],
    [`${run}/trajectories`, 12],
    [`${run}/trajectories?order=asc`, 12],
    [`${run}/lineage`, 12],
    [`${run}/tool-calls`, 24],
    [`${run}/questions`, 1],
    [`${run}/cost`, 3],
    [`${run}/lineage?step=2`, 4],
    [`/v1/trajectories/${storyRun}-g1-0.0/turns`, 2],
    ['/v1/questions', 4],
    ['/v1/evaluations', 2],
    ['/v1/evaluations/eval-1/scores', 3],
    ['/v1/dead-letters', 1],
  ])('%s has %d rows, whatever the size of a page', async (url, count) => {
    const whole = await itemsOf(url);
    expect(whole).toHaveLength(count);
    for (const limit of [1, 2, 5]) expect(await allPages(url, limit)).toEqual(whole);
  });

  it('have the columns that the document says, of the types that it says', async () => {
    const pages: readonly (readonly [string, string])[] = [
      ['/v1/runs', '/v1/runs'],
      ['/v1/runs/{run}/steps', `${run}/steps`],
      ['/v1/runs/{run}/trajectories', `${run}/trajectories`],
      ['/v1/runs/{run}/discarded', `${run}/discarded`],
      ['/v1/runs/{run}/staleness', `${run}/staleness`],
      ['/v1/runs/{run}/tool-calls', `${run}/tool-calls`],
      ['/v1/runs/{run}/lineage', `${run}/lineage`],
      ['/v1/runs/{run}/questions', `${run}/questions`],
      ['/v1/runs/{run}/cost', `${run}/cost`],
      ['/v1/trajectories/{trajectory}/turns', `/v1/trajectories/${storyRun}-g1-0.0/turns`],
      ['/v1/questions', '/v1/questions'],
      ['/v1/evaluations', '/v1/evaluations'],
      ['/v1/dead-letters', '/v1/dead-letters'],
    ];
    for (const [path, url] of pages) {
      const properties = itemSchema(path);
      const light = Object.keys(properties).filter((name) => properties[name]?.description !== HEAVY);
      for (const row of await itemsOf(url)) {
        expect(Object.keys(row).sort(), url).toEqual(light.sort());
        for (const [name, value] of Object.entries(row))
          expect(fits(value, properties[name]), `${url} ${name} ${JSON.stringify(value)}`).toBe(true);
      }
    }
  });

  it('take their own cursors alone', async () => {
    const cursorOf = async (url: string) => String((await get(`${url}${url.includes('?') ? '&' : '?'}limit=1`))['next_cursor']);
    const lists = [
      `${run}/steps`,
      `${run}/staleness`,
      `${run}/policies`,
      `${run}/trajectories`,
      `${run}/tool-calls`,
      `${run}/lineage`,
      `${run}/cost`,
    ];
    const others = [
      '/v1/questions',
      '/v1/questions?accepted=true',
      `${run}/steps?order=desc`,
      `${run}/trajectories?min_reward=0`,
      `${run}/tool-calls?tool=search`,
    ];
    const all = [...lists, ...others];
    const cursors = await Promise.all(all.map(cursorOf));
    for (const [at, url] of all.entries()) {
      for (const [from, cursor] of cursors.entries()) {
        const answer = await server.app.inject(`${url}${url.includes('?') ? '&' : '?'}cursor=${cursor}`);
        expect({ url, from: all[from], status: answer.statusCode }).toEqual({ url, from: all[from], status: at === from ? 200 : 409 });
      }
    }
  });

  it('stay where they are when rows come in between', async () => {
    const first = await get(`${run}/trajectories?limit=5`);
    const rest = await get(`${run}/trajectories?limit=50&cursor=${String(first['next_cursor'])}`);
    const before = await itemsOf(`${run}/trajectories`);
    const [newest] = before;
    await store.insert(
      'trajectories',
      [await copyOf('trajectories', String(newest?.['trajectory_id']), `'${storyRun}-g9-0.9'`)],
      'in-between',
    );
    expect(await get(`${run}/trajectories?limit=50&cursor=${String(first['next_cursor'])}`)).toEqual(rest);
    expect(await itemsOf(`${run}/trajectories`)).toHaveLength(13);
    await store.command(`alter table trajectories delete where trajectory_id = '${storyRun}-g9-0.9' settings mutations_sync = 2`);
  });

  it('show once what the log holds twice', async () => {
    const id = `${storyRun}-g1-0.0`;
    await store.insert('trajectories', [await copyOf('trajectories', id, 'trajectory_id')], 'twice');
    expect(await itemsOf(`${run}/trajectories`)).toHaveLength(12);
    expect(((await get(`/v1/trajectories/${id}`))['attempts'] as Json[]).length).toBe(1);
    await store.command('alter table trajectories delete where _offset >= 1000 settings mutations_sync = 2');
  });
});

/** A row of a table, ready to be inserted at another log position. */
async function copyOf(table: string, trajectory: string, id: string) {
  const rows = await store.query<Record<string, string | number>>(
    `select * replace (${id} as trajectory_id, _offset + 1000 as _offset) from (select * from ${table} where trajectory_id = {trajectory:String} limit 1)`,
    { params: { trajectory } },
  );
  return rows[0]!;
}

interface Schema {
  readonly type?: string;
  readonly $ref?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
}

/** Resolves a reference of the document. */
function follow(schema: Schema): Schema {
  const { $ref } = schema;
  return $ref === undefined ? schema : components[$ref.split('/').at(-1) ?? '']!;
}

/** Columns of the full rows of a list. */
function itemSchema(path: string): Record<string, Schema> {
  const operation = schemas[path]!['get'] as { responses: Record<string, { content: Record<string, { schema: Schema }> }> };
  const page = follow(operation.responses['200']!.content['application/json']!.schema);
  const [whole, part] = page.properties!['items']!.items!.anyOf!.map(follow);
  const { properties = {}, required } = whole!;
  expect(required).toEqual(Object.keys(properties).filter((name) => properties[name]?.description !== HEAVY));
  expect({ names: Object.keys(part?.properties ?? {}), required: part?.required }).toEqual({
    names: Object.keys(properties),
    required: undefined,
  });
  return properties;
}

const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
};

function fits(value: unknown, schema: Schema | undefined): boolean {
  if (schema?.anyOf !== undefined) return schema.anyOf.some((one) => fits(value, one));
  if (schema?.type === 'array') return Array.isArray(value) && value.every((item) => fits(item, schema.items));
  return checks[schema?.type ?? '']?.(value) ?? false;
}

describe('filters of trajectories', () => {
  it.each([
    ['status=answered', 12],
    ['status=cancelled', 0],
    ['purpose=eval', 0],
    [`group=${storyRun}-g1-0`, 2],
    ['question_id=q-0', 12],
    ['worker=w-0', 12],
    ['attempt=0', 12],
    ['attempt=1', 0],
    ['min_reward=0.5', 6],
    ['max_reward=0.5', 6],
    ['min_reward=0&max_reward=0', 6],
    ['min_turns=2&max_turns=2', 12],
    ['min_turns=3', 0],
    ['min_version=3', 4],
    ['max_version=0', 4],
    ['min_version=2&max_version=2', 8],
    ['step=2', 2],
    ['step=9', 0],
    ['tool=access', 6],
    ['tool=access&tool_status=ok', 0],
    ['error_type=not_found', 6],
    ['error_type=not_found&step=1', 1],
    ['min_step=2', 4],
    ['min_step=2&max_step=2', 2],
    ['min_tokens=10&max_tokens=20', 12],
    ['min_tokens=21', 0],
    ['question=NUMBER%200', 6],
    ['question=%25', 0],
  ])('%s: %d', async (query, count) => {
    expect(await itemsOf(`${run}/trajectories?${query}`)).toHaveLength(count);
  });
});

describe('what a run says', () => {
  it('about itself', async () => {
    expect(await get(run)).toMatchObject({
      run_id: storyRun,
      status: 'running',
      steps: 3,
      version: 3,
      trained: 6,
      discarded: 6,
      finished_at: null,
    });
    expect(await itemsOf('/v1/runs?status=finished')).toEqual([]);
    expect(await itemsOf(`${run}/steps?from_step=2&to_step=2`)).toMatchObject([{ step: 2 }]);
  });

  it('about a step', async () => {
    expect(await get(`${run}/steps/2`)).toMatchObject({
      step: { step: 2, version_before: 1 },
      trajectories: [{ trajectory_id: `${storyRun}-g2-0.0` }, { trajectory_id: `${storyRun}-g2-0.1` }],
      discarded: [{ reason: 'stale', version: 1 }, { reason: 'stale' }],
      truncated: false,
    });
  });

  it('about what was kept and what was not', async () => {
    const bias = await get(`${run}/selection-bias`);
    expect(bias['items']).toMatchObject([
      { step: 1, kept: 2, kept_turns_mean: 2, discarded: 2, discarded_turns_mean: 4 },
      { step: 2, kept_staleness_mean: 1, discarded_staleness_mean: 3 },
      { step: 3 },
    ]);
    expect(bias['by_reason']).toMatchObject([
      { reason: '', trajectories: 6 },
      { reason: 'stale', trajectories: 2 },
      { reason: 'uniform_group', trajectories: 4 },
    ]);
    expect(await itemsOf(`${run}/discarded?reason=stale&version=1`)).toHaveLength(2);
  });

  it('about its tools', async () => {
    expect(await get(`${run}/tools`)).toMatchObject({
      items: [
        { tool: 'search', calls: 18, failure_rate: 0 },
        { tool: 'access', calls: 6, failure_rate: 1 },
      ],
      error_types: [{ tool: 'access', error_type: 'not_found', calls: 6 }],
    });
  });

  it('about a trajectory that was trained, one that was discarded and one that was lost', async () => {
    const finished = { status: 'answered', worker_id: 'w-0', expired_reason: '', result: { reward: 1 } };
    expect(await get(`/v1/trajectories/${storyRun}-g1-0.1?run=${storyRun}`)).toMatchObject({
      attempts: [finished],
      training: [{ step: 1 }],
      discarded: [],
    });
    expect(await get(`/v1/trajectories/${storyRun}-g2-1.1`)).toMatchObject({
      attempts: [finished],
      training: [],
      discarded: [{ reason: 'stale', version: 1 }],
    });
    expect(await get(`/v1/trajectories/${storyRun}-g4-0.0`)).toMatchObject({
      attempts: [
        { attempt: 0, status: 'expired', expired_reason: 'silent', worker_id: 'w-0', result: null },
        { attempt: 1, status: 'requested', started_at: null, worker_id: '', result: null },
      ],
    });
    expect(await itemsOf(`/v1/trajectories/${storyRun}-g4-0.0/turns`)).toEqual([]);
  });

  it('about a group, by both addresses', async () => {
    const group = await get(`/v1/groups/${storyRun}-g1-0`);
    expect(group).toMatchObject({
      run_id: storyRun,
      group_size: 2,
      reward_mean: 0.5,
      reward_min: 0,
      reward_max: 1,
      trajectories: [{}, {}],
      requested: [{}, {}],
    });
    expect(await get(`${run}/groups/${storyRun}-g1-0`)).toEqual(group);
    expect(await get(`/v1/groups/${storyRun}-g4-0`)).toMatchObject({ reward_mean: null, reward_min: null, trajectories: [] });
    expect((await server.app.inject(`/v1/runs/another/groups/${storyRun}-g1-0`)).statusCode).toBe(404);
  });

  it('about turns, with texts only when they are asked for', async () => {
    const light = await itemsOf(`/v1/trajectories/${storyRun}-g1-0.0/turns?attempt=0&run=${storyRun}`);
    expect(light[0]).not.toHaveProperty('text');
    expect(light[0]).toMatchObject({ text_head: '<search> capital of Austria </search>', tool_result_head: 'Vienna' });
    expect((await itemsOf(`/v1/trajectories/${storyRun}-g1-0.0/turns?fields=text,tool_result`))[0]).toMatchObject({
      text: '<search> capital of Austria </search>',
      tool_result: 'Vienna',
    });
  });
});

describe('a trajectory of 30,000 turns', () => {
  const turns = 30_000;
  const address = '/v1/trajectories/long-g1.0/turns?run=long';

  beforeAll(async () => {
    await store.command(
      `insert into turns (run_id, group_id, trajectory_id, attempt, turn, tool, text)
       select 'long', 'long-g1', 'long-g1.0', 0, number, 'search', repeat('x', 200) from numbers(${turns})`,
    );
  });

  it('is read page by page, each turn once and in order', async () => {
    const rows = await allPages(`${address}&fields=turn`, 1_000);
    expect(rows.map(({ turn }) => turn)).toEqual(Array.from({ length: turns }, (_, turn) => turn));
  });

  it('is entered in the middle, and goes on from there', async () => {
    const page = await get(`${address}&min_turn=15000&limit=50`);
    const next = await get(`${address}&min_turn=15000&limit=50&cursor=${String(page['next_cursor'])}`);
    const numbers = [page, next].flatMap(({ items }) => (items as Json[]).map(({ turn }) => turn));
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => 15_000 + index));
  });
});

describe('reports', () => {
  const mean = (rows: readonly Json[], name: string): number => rows.reduce((sum, row) => sum + Number(row[name]), 0) / rows.length;

  it('split the change of the reward into two parts that add up to it', async () => {
    const id = (turns: number) => `${storyRun}-long-${turns}.0`;
    const longer = [5, 6].map(async (turns) => ({
      ...(await copyOf('trajectories', `${storyRun}-g3-0.1`, `'${id(turns)}'`)),
      ...{ turns, reward: turns / 10, version_first: 9, version_last: 9, _offset: 5_000 + turns },
    }));
    await store.insert('trajectories', await Promise.all(longer), 'longer');
    const rows = await itemsOf(`${run}/trajectories?limit=1000`);
    const newest = Math.max(...rows.map((row) => Number(row['version_first'])));
    const quarter = Math.floor(newest / 4);
    const early = rows.filter((row) => Number(row['version_first']) <= quarter);
    const late = rows.filter((row) => Number(row['version_first']) >= newest - quarter);
    const report = await get(`${run}/lengths`);
    expect(Number(report['by_length']) + Number(report['at_same_length'])).toBeCloseTo(mean(late, 'reward') - mean(early, 'reward'), 9);
    expect(report['by_length']).not.toBe(0);
    const count = (name: string) => (report['items'] as Json[]).reduce((sum, item) => sum + Number(item[name]), 0);
    expect([count('early'), count('late')]).toEqual([early.length, late.length]);
    await store.command(`alter table trajectories delete where startsWith(trajectory_id, '${storyRun}-long') settings mutations_sync = 2`);
  });

  it('count what a list counts', async () => {
    const rows = await itemsOf(`${run}/trajectories?limit=1000`);
    const costs = await itemsOf(`${run}/cost`);
    expect(costs.reduce((sum, row) => sum + Number(row['trajectories']), 0)).toBe(rows.length);
    const [first] = costs;
    const own = rows.filter((row) => row['version_first'] === first?.['version']);
    const sum = (name: string) => own.reduce((total, row) => total + Number(row[name]), 0);
    expect(first?.['completion_tokens_per_reward']).toBeCloseTo(sum('completion_tokens') / sum('reward'), 9);
    expect(first?.['tool_calls_per_reward']).toBeCloseTo(sum('tool_calls') / sum('reward'), 9);
    const [question] = await itemsOf(`${run}/questions`);
    const right = rows.filter((row) => row['em'] === 1).length;
    expect(question).toMatchObject({ tries: rows.length, right_answers: right, outcome: 'flips' });
  });

  it('compare tools, workers, time and runs', async () => {
    const calls = await itemsOf(`${run}/tool-calls?limit=1000`);
    const { changes } = await get(`${run}/tools?since_step=2`);
    const since = calls.filter((call) => Number(call['policy_version_max']) >= 2);
    const total = (name: string) => (changes as Json[]).reduce((sum, row) => sum + Number(row[name]), 0);
    expect([total('calls_since'), total('calls_before')]).toEqual([since.length, calls.length - since.length]);
    expect(changes).toMatchObject([
      { tool: 'access', error_type: 'not_found' },
      { tool: 'search', error_type: '' },
    ]);
    expect(await itemsOf(`${run}/workers`)).toMatchObject([{ worker_id: 'w-0', started: 13, finished: 12, lost: 1 }]);
    const clock = await itemsOf(`${run}/wall-clock`);
    const flight = (await itemsOf(`${run}/trajectories?limit=1000`))
      .map((row) => (Date.parse(String(row['finished_at'])) - Date.parse(String(row['started_at']))) / 1_000)
      .reduce((sum, seconds) => sum + seconds, 0);
    const rollouts = clock.filter(({ side, phase }) => side === 'rollouts' && phase !== 'queue');
    expect(rollouts.reduce((sum, row) => sum + Number(row['seconds']), 0)).toBeCloseTo(flight, 3);
    const compared = await itemsOf(`${run}/compare?with=${storyRun}`);
    expect(compared.length).toBeGreaterThan(15);
    expect(compared.every(({ differs }) => differs === false)).toBe(true);
    expect((await server.app.inject(`${run}/compare?with=nobody`)).statusCode).toBe(404);
  });

  it('answer with the columns that are asked for', async () => {
    const [step] = await itemsOf(`${run}/steps?fields=reward_mean,loss`);
    expect(Object.keys(step ?? {})).toEqual(['reward_mean', 'loss']);
    const page = await get(`${run}/trajectories?fields=answer&limit=5`);
    expect(page['items']).toHaveLength(5);
    expect(Object.keys((page['items'] as Json[])[0] ?? {})).toEqual(['answer']);
    const rest = await get(`${run}/trajectories?fields=answer&limit=50&cursor=${String(page['next_cursor'])}`);
    expect(rest['items']).toHaveLength(7);
  });
});

describe('the rest', () => {
  it.each([
    ['/v1/questions?accepted=true', 3],
    ['/v1/questions?accepted=false', 1],
    ['/v1/questions?dataset=factbook&split=train&question=RIVER', 3],
    ['/v1/questions?question_id=q-4', 1],
    ['/v1/questions?split=heldout', 0],
    [`/v1/evaluations?run=${storyRun}&dataset=factbook&split=heldout`, 2],
    ['/v1/evaluations?run=another', 0],
    ['/v1/dead-letters?topic=rollouts&reason=not_framed', 1],
    ['/v1/dead-letters?topic=tasks', 0],
    [`${run}/lineage?tool=access`, 3],
    [`${run}/tool-calls?tool=access`, 6],
    [`${run}/tool-calls?error_type=not_found&min_version=3`, 2],
    [`${run}/tool-calls?arguments=AUSTRIA&tool_status=ok&max_version=0`, 4],
    [`${run}/tool-calls?trajectory=${storyRun}-g1-0.0&min_ms=0&max_ms=1&worker=w-0&purpose=train`, 2],
    [`/v1/trajectories/${storyRun}-g1-0.1/turns?tool=access`, 1],
    [`/v1/trajectories/${storyRun}-g1-0.1/turns?min_turn=1&max_turn=1&tool_status=error`, 1],
    [`${run}/discarded?min_version=1&max_version=1&min_reward=0.5&max_turns=4&min_staleness=3`, 2],
    [`${run}/discarded?min_turns=5`, 0],
    [`${run}/staleness?from_step=2&to_step=2`, 1],
    [`${run}/questions?outcome=flips`, 1],
    [`${run}/questions?outcome=never`, 0],
    [`${run}/lineage?trajectory=${storyRun}-g1-0.0`, 2],
  ])('%s: %d', async (url, count) => {
    expect(await itemsOf(url)).toHaveLength(count);
  });

  it('gives the bytes of a dead letter to who asks', async () => {
    const [letter] = await itemsOf('/v1/dead-letters?fields=original_value_base64');
    expect(Buffer.from(String(letter?.['original_value_base64']), 'base64').toString()).toBe('junk');
  });

  it('shows an evaluation that is not over without scores', async () => {
    expect(await get('/v1/evaluations/eval-2')).toMatchObject({ status: 'running', avg_f1: null, completed_at: null });
    expect(await get('/v1/evaluations/eval-1')).toMatchObject({ status: 'completed', avg_f1: 0.75 });
    expect(await itemsOf('/v1/evaluations/eval-2/scores')).toEqual([]);
  });
});
