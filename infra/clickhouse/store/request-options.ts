// Parses the URL and the headers of a request: the query, its settings, its bound parameters.
import type { IncomingHttpHeaders } from 'node:http';
import { badArguments, ClickHouseFailure, notImplemented } from '../clickhouse-error.ts';
import { quoteName, quoteText } from '../sql-text.ts';

export interface RequestOptions {
  /** Query text in the URL; the body follows it. */
  readonly query: string;
  readonly queryId: string | undefined;
  readonly database: string | undefined;
  readonly defaultFormat: string | undefined;
  readonly waitForEnd: boolean;
  readonly compressResponse: boolean;
  readonly settings: ReadonlyMap<string, string>;
  /** Values escaped as in TSV, as in ClickHouse's HTTP interface. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Keys of ClickHouse's HTTP interface that are not settings. Sessions are not supported, so their keys have no effect. */
const notSettings = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'user',
  'password',
  'quota_key',
  'role',
  'session_id',
  'session_timeout',
  'session_check',
  'close_session',
  'stacktrace',
  'buffer_size',
  'wait_end_of_query',
  'client_protocol_version',
  'compress',
  'decompress',
  'log_comment',
]);

const NAME = /^[A-Za-z_][A-Za-z0-9_.]*$/;
const isOn = (value: string | null): boolean => value !== null && value !== '' && value !== '0' && value !== 'false';
const header = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** Throws BAD_ARGUMENTS for a setting or parameter with an invalid name. */
export function parseOptions(url: URL, headers: IncomingHttpHeaders): RequestOptions {
  const given = url.searchParams;
  if (isOn(given.get('compress')) || isOn(given.get('decompress'))) {
    throw notImplemented(
      'compress=1 and decompress=1 are not supported by the embedded store. Use Content-Encoding and enable_http_compression=1',
    );
  }
  const settings = new Map<string, string>();
  const parameters = new Map<string, string>();
  for (const [key, value] of given) {
    if (key.startsWith('param_')) parameters.set(parameterName(key), value);
    else if (!notSettings.has(key)) settings.set(properName(key, 'setting'), value);
  }
  return {
    query: given.get('query') ?? '',
    queryId: given.get('query_id') ?? header(headers, 'x-clickhouse-query-id'),
    database: given.get('database') ?? header(headers, 'x-clickhouse-database'),
    defaultFormat: given.get('default_format') ?? header(headers, 'x-clickhouse-format'),
    waitForEnd: isOn(given.get('wait_end_of_query')),
    compressResponse: isOn(given.get('enable_http_compression')),
    settings,
    parameters,
  };
}

/** `x` of `param_x`. */
export const parameterName = (key: string): string => properName(key.slice('param_'.length), 'parameter');

function properName(name: string, what: 'setting' | 'parameter'): string {
  if (NAME.test(name)) return name;
  if (what === 'setting') throw new ClickHouseFailure(115, 'UNKNOWN_SETTING', `Unknown setting ${JSON.stringify(name)}`);
  throw badArguments(`${JSON.stringify(name)} is not the name of a ${what}`);
}

export interface Preparation {
  readonly id: string;
  /** GET requests only read, as in ClickHouse. */
  readonly readonly: boolean;
  /** Default settings, which the request may override. */
  readonly defaults: ReadonlyMap<string, string>;
}

/** Statements that apply the request's settings and parameters to a new session; every value is quoted. */
export function prepare(options: RequestOptions, how: Preparation): string {
  const settings = new Map([...how.defaults, ...options.settings, ['log_comment', how.id]]);
  const asked = settings.get('readonly');
  settings.delete('readonly');
  const pairs = [
    ...[...settings].map(([name, value]) => `${name} = ${quoteText(value)}`),
    ...[...options.parameters].map(([name, value]) => `param_${name} = ${quoteText(value)}`),
  ];
  const readonly = asked !== undefined && asked !== '0' ? asked : how.readonly ? '2' : undefined;
  return [
    ...(options.database === undefined || options.database === '' ? [] : [`USE ${quoteName(options.database)}`]),
    `SET ${pairs.join(', ')}`,
    ...(readonly === undefined ? [] : [`SET readonly = ${quoteText(readonly)}`]),
  ].join('; ');
}
