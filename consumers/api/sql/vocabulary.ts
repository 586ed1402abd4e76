// The names known to the engine and the project's database, read from the engine: once a minute, when its version changes, and again when a
// statement has an unknown name (a table may be new).
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Store } from '../../../streams/core/ports.ts';
import type { Vocabulary } from './names.ts';

const READ = `select version() as version,
  (select groupArray(lower(name)) from system.functions) as functions,
  (select groupUniqArray(arrayJoin([table, name])) from system.columns where database = {database:String}) as names,
  (select groupArray(name) from system.databases where name != {database:String}) as foreign`;

interface VocabularyRow {
  readonly version: string;
  readonly functions: readonly string[];
  readonly names: readonly string[];
  readonly foreign: readonly string[];
}

interface CachedVocabulary {
  readonly version: string;
  readonly readAt: number;
  readonly vocabulary: Vocabulary;
}

const KEPT_MS = 60_000;
/** Unknown names must not cause a new read every time. */
const FRESH_MS = 1_000;
const kept = new WeakMap<Store, Promise<CachedVocabulary>>();

/** Throws the store's error during an outage. `fresh` requires a result that is at most a second old. */
export async function readVocabulary(store: Store, wanted: { readonly version: string; readonly fresh: boolean }): Promise<Vocabulary> {
  const last = await kept.get(store)?.catch(() => undefined);
  const maxAgeMs = wanted.fresh ? FRESH_MS : KEPT_MS;
  if (last !== undefined && last.version === wanted.version && performance.now() - last.readAt < maxAgeMs) return last.vocabulary;
  const reading = read(store);
  kept.set(store, reading);
  return (await reading).vocabulary;
}

async function read(store: Store): Promise<CachedVocabulary> {
  const readAt = performance.now();
  const [row] = await store.query<VocabularyRow>(READ, { params: { database: store.database } });
  if (row === undefined || row.functions.length === 0) {
    throw new PlatformError('STORE_UNAVAILABLE', 'checking the query: ClickHouse does not list its functions');
  }
  return {
    version: row.version,
    readAt,
    vocabulary: {
      functions: new Set(row.functions),
      names: new Set([...row.names, store.database]),
      foreign: new Set(row.foreign),
    },
  };
}
