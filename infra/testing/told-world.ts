// An in-memory log, and a database with the rows that the warehouse would store for it.
import { project } from '../../consumers/warehouse/rows/project.ts';
import type { LogRecord, OutgoingEvent, Row } from '../../streams/core/ports.ts';
import { connectStore, type ClickHouseStore } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { testApi } from './api.ts';
import { MemoryLog } from './memory-log.ts';

const topics = ['tasks', 'rollouts', 'training', 'policies', 'questions', 'evaluations', 'dead-letters'] as const;

export interface ToldWorld {
  readonly store: ClickHouseStore;
  readonly log: MemoryLog;
  /** Appends events to the log, and their rows to the tables. */
  tell(events: readonly OutgoingEvent[]): Promise<void>;
  /** Status and body of each URL. */
  get(urls: readonly string[]): Promise<readonly { readonly status: number; readonly body: Record<string, unknown> }[]>;
}

/** `url` is the URL of a store. */
export async function newToldWorld(url: string, database: string): Promise<ToldWorld> {
  const store = connectStore({ url, database });
  await migrate(store);
  const log = new MemoryLog();
  const stored = new Set<LogRecord>();
  return {
    store,
    log,
    async tell(events) {
      await log.writer().append(events);
      const tables = new Map<string, Row[]>();
      for (const record of topics.flatMap((topic) => log.records(topic))) {
        const decoded = stored.has(record) || record.value === null ? undefined : log.codec.decode(record.value);
        stored.add(record);
        if (decoded?.ok !== true) continue;
        project(record, decoded.value, (table, row) => tables.set(table, [...(tables.get(table) ?? []), row]));
      }
      for (const [table, rows] of tables) await store.insert(table, rows, `${table}-${stored.size}`);
    },
    async get(urls) {
      const api = await testApi({ store, log });
      const found = [];
      for (const one of urls) {
        const answer = await api.app.inject(one);
        found.push({ status: answer.statusCode, body: answer.json<Record<string, unknown>>() });
      }
      await api.close();
      return found;
    },
  };
}
