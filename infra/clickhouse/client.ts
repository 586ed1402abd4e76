// The only client of ClickHouse, embedded or not: `@clickhouse/client` over HTTP. It retries nothing, because only the caller knows whether
// a statement may be repeated; an insert may be repeated with the same deduplication token. Connections are kept alive and reopened
// automatically, so an outage appears as STORE_UNAVAILABLE and ends without intervention.
import { Readable } from 'node:stream';
import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { PlatformError } from '../../streams/core/errors.ts';
import type { InsertAs, QueryOptions, Row, Rows, Store } from '../../streams/core/ports.ts';
import { storeError } from './client-errors.ts';
import { withoutException } from './exception-tail.ts';
import { insertSettings, versionedSettings, type StatementSettings } from './insert-settings.ts';
import { encodeRows, type ColumnTypes } from './rows-encoder.ts';
import { quoteName } from './sql-text.ts';

export interface StoreConnection {
  /** `http(s)://host:port`; a user and password in it override those below. */
  readonly url: string;
  readonly database: string;
  readonly user?: string;
  readonly password?: string;
  /** Client name that the server sees. Default: `turnstream`. */
  readonly application?: string;
  /** Request timeout, ms. */
  readonly timeoutMs?: number;
  readonly maxConnections?: number;
}

/** A store that can also create its own database. */
export interface ClickHouseStore extends Store {
  createDatabase(): Promise<void>;
}

const TIMEOUT_MS = 120_000;
const KEEP_ALIVE_MS = 2_000;
const ERROR_TEXT_LIMIT = 120;
/** Limit of the cache of table schemas, because the audit keeps creating tables of its own. */
const TABLES_KNOWN = 64;

/** Connects lazily: an unreachable server is reported by the first statement. */
export function connectStore(connection: StoreConnection): ClickHouseStore {
  return new HttpStore(connection);
}

class HttpStore implements ClickHouseStore {
  readonly database: string;
  readonly #connection: StoreConnection;
  readonly #client: ClickHouseClient;
  readonly #where: string;
  #known: Promise<ReadonlySet<string>> | undefined;
  readonly #types = new Map<string, Promise<ColumnTypes>>();

  constructor(connection: StoreConnection) {
    this.database = connection.database;
    this.#connection = connection;
    this.#where = withoutSecrets(connection.url);
    this.#client = open(connection, connection.database);
  }

  async ping(): Promise<boolean> {
    return (await this.#client.ping()).success;
  }

  async query<T extends object = Row>(sql: string, options: QueryOptions = {}): Promise<readonly T[]> {
    return this.#doing(`querying ${briefly(sql)}`, options, async () => {
      const settings: StatementSettings = { ...options.settings, wait_end_of_query: 1 };
      const answer = await this.#client.query({ query: sql, format: 'JSONEachRow', ...asked({ ...options, settings }) });
      return answer.json<T>();
    });
  }

  async stream(sql: string, options: QueryOptions & { readonly format: string }): Promise<AsyncIterable<Buffer>> {
    const doing = `querying ${briefly(sql)}`;
    if (!/^\w+$/.test(options.format))
      throw new PlatformError('STORE_REFUSED', `${doing}: ${JSON.stringify(options.format)} is not a format`);
    return this.#doing(doing, options, async () => {
      const answer = await this.#client.exec({ query: `${sql}\nFORMAT ${options.format}`, ...asked(options) });
      return this.#parts(doing, answer, options);
    });
  }

  async command(sql: string, options: QueryOptions = {}): Promise<void> {
    await this.#doing(`running ${briefly(sql)}`, { ...options, writes: true }, async () => {
      const settings: StatementSettings = { ...options.settings, wait_end_of_query: 1 };
      await this.#client.command({ query: sql, ...asked({ ...options, settings }) });
    });
  }

  async insert(table: string, rows: Rows, as: string | InsertAs): Promise<void> {
    if (rows.length === 0) return;
    const { token, id, beforeSending }: InsertAs = typeof as === 'string' ? { token: as } : as;
    await this.#doing(`inserting ${rows.length} rows into ${table}`, { writes: true }, async () => {
      const { format, columns, parts, release } = encodeRows(rows, await this.#typesOf(table));
      const names = columns === undefined ? '' : ` (${columns.map(quoteName).join(', ')})`;
      const { stream } = await this.#client.exec({
        query: `INSERT INTO ${quoteTable(table)}${names} FORMAT ${format}`,
        values: Readable.from(beforeSending === undefined ? parts : readily(parts, beforeSending), { objectMode: false }),
        ...(id === undefined ? {} : { query_id: id }),
        clickhouse_settings: insertSettings(token, await this.#versioned()),
      });
      await drain(stream);
      release();
    });
  }

  async createDatabase(): Promise<void> {
    const client = open(this.#connection, 'default');
    try {
      await this.#doing(`creating database ${this.database}`, { writes: true }, () =>
        client.command({ query: `CREATE DATABASE IF NOT EXISTS ${quoteName(this.database)}` }),
      );
    } finally {
      await client.close();
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Reads the supported settings once; retries if that fails. */
  #versioned(): Promise<ReadonlySet<string>> {
    this.#known ??= this.query<{ name: string }>('SELECT name FROM system.settings WHERE name IN ({names:Array(String)})', {
      params: { names: versionedSettings },
    }).then(
      (found) => new Set(found.map(({ name }) => name)),
      (error: unknown) => {
        this.#known = undefined;
        throw error;
      },
    );
    return this.#known;
  }

  /** Queried once per table. Outdated types do no harm: the server converts a block with other types. */
  #typesOf(table: string): Promise<ColumnTypes> {
    const known = this.#types.get(table);
    if (known !== undefined) return known;
    if (this.#types.size >= TABLES_KNOWN) this.#types.clear();
    const types = this.query<{ name: string; type: string }>(`DESCRIBE TABLE ${quoteTable(table)}`).then(
      (columns) => new Map(columns.map(({ name, type }) => [name, type])),
    );
    this.#types.set(table, types);
    types.catch(() => this.#types.delete(table));
    return types;
  }

  async *#parts(doing: string, answer: ExecResult, options: QueryOptions): AsyncGenerator<Buffer> {
    const tag = answer.response_headers['x-clickhouse-exception-tag'];
    try {
      yield* withoutException(answer.stream as AsyncIterable<Buffer>, typeof tag === 'string' ? tag : undefined);
    } catch (error) {
      throw this.#translated(doing, error, options);
    } finally {
      answer.stream.destroy();
    }
  }

  async #doing<T>(doing: string, options: QueryOptions & { readonly writes?: boolean }, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#translated(doing, error, options);
    }
  }

  #translated(doing: string, error: unknown, options: QueryOptions & { readonly writes?: boolean }): unknown {
    if (options.signal?.aborted === true) return options.signal.reason;
    return storeError(doing, error, { writes: options.writes ?? false, where: this.#where });
  }
}

type ExecResult = Awaited<ReturnType<ClickHouseClient['exec']>>;

interface StatementOptions {
  readonly query_params?: Record<string, unknown>;
  readonly clickhouse_settings?: StatementSettings;
  readonly abort_signal?: AbortSignal;
}

const asked = (options: QueryOptions): StatementOptions => ({
  ...(options.params === undefined ? {} : { query_params: { ...options.params } }),
  ...(options.settings === undefined ? {} : { clickhouse_settings: options.settings }),
  ...(options.signal === undefined ? {} : { abort_signal: options.signal }),
});

const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);

function open(connection: StoreConnection, database: string): ClickHouseClient {
  const remote = !LOCAL.has(new URL(connection.url).hostname);
  return createClient({
    url: connection.url,
    database,
    application: connection.application ?? 'turnstream',
    ...(connection.user === undefined ? {} : { username: connection.user }),
    ...(connection.password === undefined ? {} : { password: connection.password }),
    request_timeout: connection.timeoutMs ?? TIMEOUT_MS,
    max_open_connections: connection.maxConnections ?? 16,
    keep_alive: { enabled: true, idle_socket_ttl: KEEP_ALIVE_MS },
    compression: { request: remote, response: remote },
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    log: { level: 127 },
  });
}

const quoteTable = (table: string): string => table.split('.').map(quoteName).join('.');

function* readily(parts: Iterable<Buffer>, beforeSending: () => void): Generator<Buffer> {
  beforeSending();
  yield* parts;
}

async function drain(stream: Readable): Promise<void> {
  for await (const _part of stream);
}

/** The first words of a statement, for messages. */
function briefly(sql: string): string {
  const line = sql.replace(/\s+/g, ' ').trim();
  return line.length <= ERROR_TEXT_LIMIT ? line : `${line.slice(0, ERROR_TEXT_LIMIT)}…`;
}

function withoutSecrets(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}
