// Scratch tables for the audit: rows rebuilt from the log go into a copy of their table that stores nothing (engine Null) but passes on a
// hash of each row. So the same engine hashes both sides from columns of the same types, and the scratch costs twenty bytes per row,
// whatever its size.
import { randomBytes } from 'node:crypto';
import type { Rows, Store } from '../../streams/core/ports.ts';
import { bounded } from './audit-compare.ts';
import { hashesFrom } from './audit-digest.ts';
import type { TableName } from './rows/tables.ts';

export interface Scratch {
  /** Table of (_partition, _offset, hash) for the added rows; undefined when there were none. */
  readonly hashes: (table: TableName) => string | undefined;
  add(table: TableName, rows: Rows): Promise<void>;
  /** Hashes stored rows as if they were rebuilt. */
  addStored(table: TableName, where: string, params: Readonly<Record<string, unknown>>): Promise<void>;
  /** Forgets all rows; call it only while no `add` is pending. */
  clear(): Promise<void>;
  drop(): Promise<void>;
}

const PREFIX = 'audit_scratch_';
const LEFT_OVER_MS = 86_400_000;

/** Creates the scratch of a table when its first row arrives. Always `drop` it, when no `add` is pending. */
export function createScratch(store: Store, nowMs: number): Scratch {
  const base = `${PREFIX}${nowMs}_${randomBytes(4).toString('hex')}`;
  const nameOf = (table: TableName): string => `${base}_${table}`;
  const hashesOf = (table: TableName): string => `${nameOf(table)}_hashes`;
  const made = new Map<TableName, Promise<void>>();
  const filled = new Set<TableName>();
  let batches = 0;

  async function make(table: TableName): Promise<void> {
    await store.command(`create table ${nameOf(table)} as ${table} engine = Null`);
    await store.command(
      `create table ${hashesOf(table)} (_partition Int32, _offset Int64, hash UInt64) engine = MergeTree order by tuple()`,
    );
    await store.command(
      `create materialized view ${nameOf(table)}_hashing to ${hashesOf(table)} as select _partition, _offset, sipHash64(*) as hash from ${nameOf(table)}`,
    );
  }
  function ensure(table: TableName): Promise<void> {
    const known = made.get(table) ?? make(table);
    filled.add(table);
    made.set(table, known);
    return known;
  }

  return {
    hashes: (table) => (filled.has(table) ? hashesOf(table) : undefined),
    async add(table, rows) {
      await ensure(table);
      batches += 1;
      await store.insert(nameOf(table), rows, `${base}-${batches}`);
    },
    async addStored(table, where, params) {
      await ensure(table);
      const rows = `select _partition, _offset, hash from (${hashesFrom(table, where)})`;
      await store.command(`insert into ${hashesOf(table)} (_partition, _offset, hash) ${rows}`, bounded(params));
    },
    async clear() {
      for (const table of filled) await store.command(`truncate table ${hashesOf(table)}`);
      filled.clear();
    },
    async drop() {
      for (const table of made.keys()) {
        await store.command(`drop view if exists ${nameOf(table)}_hashing`);
        await store.command(`drop table if exists ${nameOf(table)}`);
        await store.command(`drop table if exists ${hashesOf(table)}`);
      }
    },
  };
}

/** Removes what a killed audit left behind, once it is a day old. */
export async function dropLeftOvers(store: Store, nowMs: number): Promise<void> {
  const found = await store.query<{ name: string; engine: string }>(
    `select name, engine from system.tables where database = currentDatabase() and startsWith(name, {prefix:String}) order by engine = 'MaterializedView' desc`,
    { params: { prefix: PREFIX } },
  );
  for (const { name, engine } of found) {
    const madeMs = Number(/^\d+/.exec(name.slice(PREFIX.length))?.[0]);
    if (!(nowMs - madeMs > LEFT_OVER_MS) || !/^\w+$/.test(name)) continue;
    await store.command(`drop ${engine === 'MaterializedView' ? 'view' : 'table'} if exists ${name}`);
  }
}
