// Runs one query for the owner of the data. A SELECT goes through the API of a running `up`, whose sandbox checks and limits it. Without a
// running API, and for what the sandbox does not support (EXPLAIN, other formats), the query goes directly to the store: read only, with
// the same limits.
import { assertDescribed, catalogueStatement } from '../../../consumers/api/sql/catalogue.ts';
import { sqlFormats } from '../../../consumers/api/sql/formats.ts';
import { userErrorOf } from '../../../consumers/api/sql/limits.ts';
import { isErrorCode, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { dashboardTokenOf } from '../../app/open/dashboard-token.ts';
import { readServices } from '../../app/open/services-file.ts';
import { withStore } from '../../app/open/with-store.ts';

export interface SqlQuery {
  readonly config: Config;
  readonly query: string;
  /** Values of the {name:Type} parameters of the query. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly format: string;
  readonly logger: Logger;
  readonly signal?: AbortSignal;
  /** Takes the bytes of the result; resolves when more may follow. */
  readonly out: (bytes: Buffer) => Promise<void>;
}

const settingsOf = (config: Config) => ({
  readonly: 1,
  wait_end_of_query: 1,
  max_execution_time: config.sqlMaxSeconds,
  max_result_rows: config.sqlMaxRows,
  max_result_bytes: config.sqlMaxResultMb * 1_000_000,
  max_memory_usage: config.sqlMaxMemoryMb * 1_000_000,
});

/** Writes the rows in the requested format. Errors of ClickHouse are passed on. */
export async function streamQuery(asked: SqlQuery): Promise<void> {
  const query = asked.query.trim().replace(/;\s*$/, '');
  const api = apiFor(asked, query);
  if (api === undefined || !(await askApi({ ...asked, query }, api))) await askStore({ ...asked, query });
}

const isForApi = (query: string): boolean => /^\(*\s*(select|with)\b/i.test(query) || catalogueStatement(query, '') !== undefined;

/** The URL of the API of the local `up`, when the query can go through it. */
function apiFor({ config, format }: SqlQuery, query: string): string | undefined {
  if (config.clickhouseUrl !== '' || !(format in sqlFormats) || !isForApi(query)) return undefined;
  const url = readServices(config.dataDir)?.apiUrl;
  return url === undefined || url === '' ? undefined : url;
}

/** A key for SQL, or the token of the dashboard. */
function credentials(config: Config): Readonly<Record<string, string>> {
  const key = config.apiKeys.find((one) => /:(.*\+)?sql(\+|$)/.test(one))?.split(':')[0] ?? dashboardTokenOf(config);
  return key === '' ? {} : { authorization: `Bearer ${key}` };
}

/** False when the API did not answer. */
async function askApi({ config, query, params = {}, format, signal, out }: SqlQuery, api: string): Promise<boolean> {
  const response = await fetch(`${api}/v1/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...credentials(config) },
    body: JSON.stringify({ query, params, format }),
    ...(signal === undefined ? {} : { signal }),
  }).catch(() => undefined);
  signal?.throwIfAborted();
  if (response === undefined) return false;
  if (!response.ok) throw await problemOf(response);
  if (response.body !== null) for await (const part of response.body) await out(Buffer.from(part as Uint8Array));
  return true;
}

async function problemOf(response: Response): Promise<PlatformError> {
  const said = (await response.json().catch(() => ({}))) as { readonly code?: string; readonly detail?: string };
  const code = isErrorCode(said.code) ? said.code : 'SQL_INVALID';
  return new PlatformError(code, said.detail ?? `running the query: the API answered ${response.status}`);
}

function askStore({ config, query, params = {}, format, logger, signal, out }: SqlQuery): Promise<void> {
  return withStore({ config, logger, purpose: 'sql' }, async (store) => {
    try {
      const settings = settingsOf(config);
      const catalogue = catalogueStatement(query, store.database);
      if (catalogue !== undefined) await assertDescribed(store, catalogue);
      const asked = catalogue ?? { statement: query, params };
      const options = { params: asked.params, format, settings, ...(signal === undefined ? {} : { signal }) };
      for await (const part of await store.stream(asked.statement, options)) await out(part);
    } catch (error) {
      throw userErrorOf(error);
    }
  });
}
