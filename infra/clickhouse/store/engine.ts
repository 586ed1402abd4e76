// chdb, the engine in this process. One data directory, locked by this process; a dead process leaves no lock. Every request gets its own
// session on that directory, which costs about a millisecond: settings, parameters and the database of one request are therefore invisible
// to others. Only KILL QUERY can stop a call from outside, so a call is over only when its promise settles.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Session } from 'chdb';
import { PlatformError } from '../../../streams/core/errors.ts';
import { failureOf } from '../clickhouse-error.ts';
import type { EngineNames } from './rule.ts';
import { shapeOf } from './shape.ts';
import { quoteText } from '../sql-text.ts';
import { createSyncGuard } from './sync-guard.ts';
import { closedTableSettings, closedTextSettings, openTableSettings, openTextSettings, textTypes } from './text-settings.ts';
import { createWatch, type WatchedStatement, type CallWatch } from './watch.ts';

interface EngineResult {
  readonly bytes: Buffer;
  /** Rows of the result, or rows written by an INSERT. */
  readonly rows: number;
  readonly rowBytes: number;
  readonly elapsedMs: number;
}

export interface EngineSession {
  run(sql: string, format: string): Promise<EngineResult>;
  /** Streams blocks of the result; ends the query when the reader stops early. */
  stream(sql: string, format: string): AsyncIterable<Buffer>;
  close(): void;
}

export interface ClickHouseEngine {
  readonly version: string;
  readonly timezone: string;
  readonly names: EngineNames;
  /** Running calls. */
  readonly watch: CallWatch;
  /** Opens a session for a statement. */
  open(asked: WatchedStatement): EngineSession;
  /** Asks the engine to stop the query with this id; safe when there is none. */
  cancel(id: string): Promise<void>;
  /** Runs the cheapest possible query. */
  probe(): Promise<void>;
  /** One statement in the format of the engine's formatter. Throws SYNTAX_ERROR, also for several statements. */
  formatted(sql: string): Promise<string>;
  /** Waits for running calls, then releases the directory. */
  close(): Promise<void>;
}

/** The engine formats even the longest text within this time; a text that takes longer never finishes. */
const FORMAT_SECONDS = 10;

/** Throws STORE_LOCKED when another process has the directory open. */
export async function openEngine(options: { readonly path: string; readonly configFile: string }): Promise<ClickHouseEngine> {
  const keeper = openKeeper(options);
  const prober = new Session(options.path);
  const [version, timezone] = (await read(keeper, 'SELECT version(), timezone()')).split('\t');
  const names = await namesOf(keeper);
  const watch = createWatch();
  const guard = createSyncGuard();
  const open = (asked: WatchedStatement): EngineSession =>
    openSession(options.path, { track: (call) => watch.run(asked, call), guarded: (work) => guard.run(asked, shapeOf(asked.sql), work) });
  return {
    version: version ?? '',
    timezone: timezone ?? 'UTC',
    names,
    watch,
    open,
    cancel: async (id) => {
      const sql = `KILL QUERY WHERE Settings['log_comment'] = ${quoteText(id)} ASYNC`;
      await watch.run({ sql, maxSeconds: undefined }, keeper.queryAsync(sql, { format: 'TSV' }));
    },
    probe: async () => {
      await prober.queryAsync('SELECT 1', { format: 'TSV' }).catch((error: unknown) => {
        throw failureOf(error);
      });
    },
    async formatted(sql) {
      const session = open({ sql, maxSeconds: FORMAT_SECONDS });
      try {
        const ask = `SET param_q = ${quoteText(escapeTsv(sql))}; SELECT formatQuerySingleLine({q:String}) SETTINGS max_execution_time = ${FORMAT_SECONDS}`;
        return (await session.run(ask, 'TSVRaw')).bytes.toString('utf8').replace(/\n$/, '');
      } finally {
        session.close();
      }
    },
    async close() {
      await watch.idle();
      guard.close();
      prober.close();
      keeper.close();
    },
  };
}

/** Parameters are escaped as in TSV. */
const escapeTsv = (text: string): string =>
  text.replace(/[\\\t\n\r\0]/g, (char) => `\\${{ '\t': 't', '\n': 'n', '\r': 'r', '\0': '0' }[char] ?? char}`);

async function namesOf(session: Session): Promise<EngineNames> {
  const list = async (sql: string): Promise<readonly string[]> => (await read(session, sql)).split('\n').filter((name) => name !== '');
  const known = (names: readonly string[]): string => names.map(quoteText).join(', ');
  const types = `type IN (${known(textTypes)})`;
  const settings = `SELECT name FROM system.settings WHERE ${types} AND name NOT IN (${known([...openTextSettings, ...closedTextSettings])})`;
  const tables = `SELECT name FROM system.merge_tree_settings WHERE ${types} AND name NOT IN (${known([...openTableSettings, ...closedTableSettings])})`;
  return {
    functions: await list('SELECT name FROM system.functions'),
    tableFunctions: await list('SELECT name FROM system.table_functions'),
    tableEngines: await list('SELECT name FROM system.table_engines'),
    settings: await list(`${settings} UNION ALL ${tables}`),
  };
}

function openKeeper(options: { readonly path: string; readonly configFile: string }): Session {
  try {
    return new Session(options.path, { connectionArgs: [`--config-file=${options.configFile}`] });
  } catch (cause) {
    const why = lockOwner(options.path) ?? 'the engine refuses the directory and has said why above';
    const message = `opening the store in ${options.path}: ${why}. Stop the other store or choose another TURNSTREAM_DATA_DIR`;
    throw new PlatformError('STORE_LOCKED', message, { cause });
  }
}

/** The engine writes its process id into its lock file. */
function lockOwner(path: string): string | undefined {
  try {
    const pid = Number(/^PID: (\d+)/m.exec(readFileSync(join(path, 'status'), 'utf8'))?.[1]);
    if (!Number.isInteger(pid) || pid === process.pid) return undefined;
    process.kill(pid, 0);
    return `process ${pid} has it open`;
  } catch {
    return undefined;
  }
}

async function read(session: Session, sql: string): Promise<string> {
  return (await session.queryAsync(sql, { format: 'TSV' })).text().trim();
}

interface CallTracker {
  /** Tracks an asynchronous call. */
  readonly track: <T>(call: Promise<T>) => Promise<T>;
  /** Tracks a call that blocks this thread. */
  readonly guarded: <T>(work: () => T) => T;
}

function openSession(path: string, { track, guarded }: CallTracker): EngineSession {
  const session = new Session(path);
  let running = 0;
  const call = async <T>(work: Promise<T>): Promise<T> => {
    running += 1;
    void work.then(ended, ended);
    return track(work);
  };
  const ended = (): void => {
    running -= 1;
  };
  return {
    async run(sql, format) {
      try {
        const result = await call(session.queryAsync(sql, { format }));
        const bytes = result.bytes();
        return {
          bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
          rows: result.rowsRead,
          rowBytes: result.bytesRead,
          elapsedMs: result.elapsed * 1000,
        };
      } catch (error) {
        throw failureOf(error);
      }
    },
    async *stream(sql, format) {
      try {
        const chunks = guarded(() => session.queryStream(sql, { format }))[Symbol.asyncIterator]();
        try {
          for (let next = await call(chunks.next()); next.done !== true; next = await call(chunks.next())) {
            const bytes = next.value.raw();
            yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
          }
        } finally {
          // A call that was given up never ends, so awaiting it here would never end either.
          if (running === 0) await chunks.return?.();
        }
      } catch (error) {
        throw failureOf(error);
      }
    },
    close: () => {
      if (running === 0) session.close();
    },
  };
}
