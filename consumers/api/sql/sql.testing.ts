// Shared by the tests of SQL over real tables: a store, and a server over it.
import { afterAll, beforeAll } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../../infra/clickhouse/client.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { tellStory } from '../../../infra/testing/api-story.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../../infra/testing/store.ts';

let engine: TestStore;

export let store: ClickHouseStore;

export let server: HttpServer;

beforeAll(async () => {
  engine = await startMigratedStore();
  store = connectStore({ url: engine.url, database: migratedDatabase });
  await store.command('create database other');
  await store.command('create table other.secrets (run_id String) engine = MergeTree order by run_id');
  await store.command("insert into other.secrets select 'run-a'");
  const log = new MemoryLog();
  await tellStory(log, store);
  server = await testApi({ store, log });
});

afterAll(async () => {
  await server.close();
  await store.close();
  await engine.stop();
});

export const post = (payload: object, on = server) => on.app.inject({ method: 'POST', url: '/v1/sql', payload });

export const codeOf = (body: string): string => (JSON.parse(body) as { code: string }).code;
