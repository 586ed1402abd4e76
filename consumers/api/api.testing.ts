// Shared by the tests of the API over real tables: a store with the run of api-story.ts, and a server over it.
import { afterAll, beforeAll, expect } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import type { HttpServer } from '../../infra/http/server.ts';
import { storyRun, tellStory } from '../../infra/testing/api-story.ts';
import { testApi } from '../../infra/testing/api.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../infra/testing/store.ts';
import type { JsonObject } from '../../infra/testing/json.ts';

let engine: TestStore;

export let store: ClickHouseStore;

export let server: HttpServer;

export let schemas: Record<string, JsonObject>;

export let components: Record<string, JsonSchema>;

beforeAll(async () => {
  engine = await startMigratedStore();
  store = connectStore({ url: engine.url, database: migratedDatabase });
  const log = new MemoryLog();
  await tellStory(log, store);
  server = await testApi({ store, log });
  const document = (await server.app.inject('/openapi.json')).json<{
    paths: Record<string, JsonObject>;
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

export async function get(url: string): Promise<JsonObject> {
  const answer = await server.app.inject(url);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<JsonObject>();
}

export const itemsOf = async (url: string) => (await get(url))['items'] as JsonObject[];

export const run = `/v1/runs/${storyRun}`;

/** Every page of a list, by following its cursors. */
export async function allPages(url: string, limit: number): Promise<JsonObject[]> {
  const rows: JsonObject[] = [];
  let cursor = '';
  for (;;) {
    const page = await get(`${url}${url.includes('?') ? '&' : '?'}limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    rows.push(...(page['items'] as JsonObject[]));
    if (typeof page['next_cursor'] !== 'string') return rows;
    cursor = page['next_cursor'];
  }
}

/** A row of a table, ready to be inserted at another log position. */
export async function copyOf(table: string, trajectory: string, id: string) {
  const rows = await store.query<Record<string, string | number>>(
    `select * replace (${id} as trajectory_id, _offset + 1000 as _offset) from (select * from ${table} where trajectory_id = {trajectory:String} limit 1)`,
    { params: { trajectory } },
  );
  return rows[0]!;
}

export interface JsonSchema {
  readonly type?: string;
  readonly $ref?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly description?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
}
