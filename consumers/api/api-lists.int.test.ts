import { describe, expect, it } from 'vitest';
import { storyRun } from '../../infra/testing/api-story.ts';
import { HEAVY } from './columns.ts';
import type { JsonObject } from '../../infra/testing/json.ts';
import { type JsonSchema, allPages, components, copyOf, get, itemsOf, run, schemas, server, store } from './api.testing.ts';

/** Resolves a reference of the OpenAPI document. */
function follow(schema: JsonSchema): JsonSchema {
  const { $ref } = schema;
  return $ref === undefined ? schema : components[$ref.split('/').at(-1) ?? '']!;
}

/** Columns of the full rows of a list. */
function itemSchema(path: string): Record<string, JsonSchema> {
  const operation = schemas[path]!['get'] as { responses: Record<string, { content: Record<string, { schema: JsonSchema }> }> };
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

function fits(value: unknown, schema: JsonSchema | undefined): boolean {
  if (schema?.anyOf !== undefined) return schema.anyOf.some((one) => fits(value, one));
  if (schema?.type === 'array') return Array.isArray(value) && value.every((item) => fits(item, schema.items));
  return checks[schema?.type ?? '']?.(value) ?? false;
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
    ...['reward', 'turns', 'tokens'].map((sort): [string, number] => [`${run}/trajectories?sort=${sort}`, 12]),
    [`${run}/trajectories?sort=reward&order=asc`, 12],
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

  it('have the columns and the types that the OpenAPI document describes', async () => {
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

  it('accept only their own cursors', async () => {
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

  it('keep their later pages the same when rows are added between two pages', async () => {
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

  it('return a row only once if the log holds it twice', async () => {
    const id = `${storyRun}-g1-0.0`;
    await store.insert('trajectories', [await copyOf('trajectories', id, 'trajectory_id')], 'twice');
    expect(await itemsOf(`${run}/trajectories`)).toHaveLength(12);
    expect(((await get(`/v1/trajectories/${id}`))['attempts'] as JsonObject[]).length).toBe(1);
    await store.command('alter table trajectories delete where _offset >= 1000 settings mutations_sync = 2');
  });
});

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
    ['fate=trained', 6],
    ['fate=discarded', 6],
    ['fate=collected', 0],
    ['fate=lost', 0],
    ['fate=open', 0],
    ['fate=trained&step=2', 2],
  ])('%s: %d', async (query, count) => {
    expect(await itemsOf(`${run}/trajectories?${query}`)).toHaveLength(count);
  });
});

describe('sorted trajectories', () => {
  const columns = { finished_at: 'finished_at', reward: 'reward', turns: 'turns', tokens: 'completion_tokens' } as const;

  it('are in the order of the column, those without a value last', async () => {
    const nameless = { ...(await copyOf('trajectories', `${storyRun}-g1-0.0`, `'${storyRun}-g9-0.8'`)), reward: 'nan' };
    const other = { ...(await copyOf('trajectories', `${storyRun}-g1-0.0`, `'${storyRun}-g9-0.9'`)), reward: 'nan' };
    await store.insert('trajectories', [nameless, other], 'without-reward');
    for (const [sort, column] of Object.entries(columns)) {
      for (const order of ['asc', 'desc']) {
        const url = `${run}/trajectories?sort=${sort}&order=${order}`;
        const rows = await allPages(url, 3);
        const values = rows.map((row) => row[column]).filter((value) => value !== null);
        const sorted = [...values].sort((a, b) => (a === b ? 0 : (a as number) < (b as number) === (order === 'asc') ? -1 : 1));
        expect({ url, values, count: rows.length }).toEqual({ url, values: sorted, count: 14 });
      }
    }
    expect((await itemsOf(`${run}/trajectories?sort=reward`)).slice(-2).map((row) => row['reward'])).toEqual([null, null]);
    await store.command(`alter table trajectories delete where startsWith(trajectory_id, '${storyRun}-g9') settings mutations_sync = 2`);
  });

  it('have their neighbors in the same order', async () => {
    const rows = await itemsOf(`${run}/trajectories?sort=reward&order=asc`);
    const ids = rows.map((row) => row['trajectory_id']);
    const beside = await get(`${run}/trajectories/${String(ids[4])}/neighbors?sort=reward&order=asc`);
    expect([beside['previous'], beside['next']]).toEqual([
      { trajectory_id: ids[3], attempt: 0 },
      { trajectory_id: ids[5], attempt: 0 },
    ]);
  });
});
