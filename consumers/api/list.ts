// The one way to read a list: bound parameters, a sort key that identifies a row, a cursor on that key, and only the requested columns. A
// row that the log holds twice is returned once: the sort key is its identity, and this module reads a few more rows than a page and drops
// the repeats. A table that is sorted by the key is then read no further than the page (LIMIT BY would read all of it). Rows that arrive
// between two pages change neither page: the next page starts after the last row of the previous one, wherever that row is by then.
import { Type, type TObject, type TProperties } from 'typebox';
import { isPlatformError, PlatformError } from '../../streams/core/errors.ts';
import type { Store } from '../../streams/core/ports.ts';
import { answers, pageSchema, rowSchemaOf, type ColumnKinds, type RowOf } from './columns.ts';
import { cursorTag, decodeCursor, encodeCursor, foreignCursor, type PageCursor, type CursorKey, type KeyKind } from './cursor.ts';
import { columnsToRead } from './fields.ts';

/** A condition with its own bound parameters. */
export interface SqlCondition {
  readonly sql: string;
  readonly params: Readonly<Record<string, unknown>>;
}

type ListKey = Readonly<Record<string, KeyKind>>;

export interface ListSpec<C extends ColumnKinds> {
  /** A table, a view or a subquery. */
  readonly from: string;
  readonly columns: C;
  /** Columns in sort order; together they identify a row. Each is one of `columns`. */
  readonly key: ListKey;
  readonly direction: 'asc' | 'desc';
  /** Columns that are read only when the request names them. */
  readonly heavy?: ColumnKinds;
  /**
   * Columns that identify a row in the table's own order, for a table with another sort order than the list: keys are read and sorted
   * first, then the other columns of only those rows. The first condition must name the run.
   */
  readonly keysFirst?: readonly string[] | undefined;
}

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Names of the columns to return; by default all but the heavy ones. */
  readonly fields?: readonly string[] | undefined;
}

/** Rows lack the columns that `fields` omits. */
export interface ListPage<Row> {
  readonly items: readonly Row[];
  readonly next_cursor: string | null;
}

/** Query parameters of every list. */
export const pageQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 50, description: 'Maximum number of rows in a page.' }),
  cursor: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]+$',
      maxLength: 8_000,
      description: '`next_cursor` of the previous page. The list and the filters must be the same; otherwise the response is 409.',
    }),
  ),
};

const fieldsQuery = (columns: ColumnKinds, heavy: ColumnKinds) => {
  const more = Object.keys(heavy).join(', ');
  const description = `Columns to return; by default all.${more === '' ? '' : ` Returned only if named: ${more}.`}`;
  const names = [...Object.keys(columns), ...Object.keys(heavy)];
  return Type.Optional(Type.Array(Type.Enum(names), { minItems: 1, maxItems: 100, description }));
};

/** The query parameters and response schema of a list route; generated code calls its rows `name`. */
export const listOf = (name: string, columns: ColumnKinds, heavy: ColumnKinds = {}) => ({
  query: { ...pageQuery, fields: fieldsQuery(columns, heavy) },
  response: answers(pageSchema(name, rowSchemaOf(name, columns, heavy))),
});

/** Query parameters of a route; unknown ones are rejected by name, not dropped. */
export const queryOf = <P extends TProperties>(properties: P): TObject<P> => Type.Object(properties, { additionalProperties: false });

const READ_SECONDS = 30;
/** ClickHouse's code for a statement that met its time limit. */
const TIMEOUT_EXCEEDED = 159;

/**
 * Settings of every read: numbers stay numbers, NaN is null, times are RFC 3339, and every query has a time limit. A page is a few rows of
 * dozens of columns, each in its own file that is rarely in the page cache, so all files are read in parallel. The calling thread searches
 * the indexes: they are in memory, and handing dozens of parts to other threads costs more than the search.
 */
const readSettings = {
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_denormals: 0,
  date_time_output_format: 'iso',
  max_execution_time: READ_SECONDS,
  max_threads: 2,
  max_threads_for_indexes: 1,
  local_filesystem_read_prefetch: 1,
  allow_prefetched_read_pool_for_local_filesystem: 1,
} as const;

/** Rows of one of our own statements; throws SQL_LIMIT when they take longer than the time limit. */
export async function readRows<T extends object>(
  store: Store,
  sql: string,
  params: Readonly<Record<string, unknown>> = {},
): Promise<readonly T[]> {
  try {
    return await store.query<T>(sql, { params, settings: readSettings });
  } catch (error) {
    if (!isPlatformError(error, 'STORE_REFUSED') || error.context['clickhouseCode'] !== TIMEOUT_EXCEEDED) throw error;
    const message = `reading the answer: it reached its limit of ${READ_SECONDS} s. Ask for less, with a filter, a range, or a smaller limit`;
    throw new PlatformError('SQL_LIMIT', message, { cause: error });
  }
}

/** One page of a list. */
export async function readPage<C extends ColumnKinds>(
  store: Store,
  spec: ListSpec<C>,
  request: PageRequest & {
    readonly where: readonly SqlCondition[];
    /** Identifies the list when its conditions differ from page to page. */
    readonly identity?: unknown;
  },
): Promise<ListPage<RowOf<C>>> {
  const fields = columnsToRead(request.fields, spec.columns, spec.heavy);
  const tag = cursorTag([spec.from, spec.key, spec.direction, request.identity ?? request.where]);
  const after = request.cursor === undefined ? undefined : afterCursor(spec, request.cursor, tag);
  const clauses = after === undefined ? request.where : [...request.where, after];
  const names = Object.keys(spec.key);
  const read = [...new Set([...fields, ...names])];
  const rows = await readOnce<RowOf<C>>(store, { sql: statementOf(spec, read, clauses), clauses, key: names, most: request.limit + 1 });
  const items = rows.slice(0, request.limit);
  const last = items.at(-1);
  return {
    items: read.length === fields.length ? items : items.map((row) => only(row, fields)),
    next_cursor: rows.length > request.limit && last !== undefined ? encodeCursor(tag, keyOf(last, spec.key)) : null,
  };
}

/** The bound parameters of all clauses. */
export const paramsOf = (clauses: readonly SqlCondition[]): Readonly<Record<string, unknown>> =>
  Object.assign({}, ...clauses.map(({ params }) => params)) as Record<string, unknown>;

/** Extra rows to read, to make up for repeats. */
const SPARE_ROWS = 4;

interface PageStatement {
  readonly sql: string;
  readonly clauses: readonly SqlCondition[];
  readonly key: readonly string[];
  readonly most: number;
}

/** Up to `most` rows, each key once. */
async function readOnce<T extends object>(store: Store, { sql, clauses, key, most }: PageStatement): Promise<readonly T[]> {
  const params = paramsOf(clauses);
  for (let asked = most + SPARE_ROWS; ; asked *= 2) {
    const rows = await readRows<T>(store, sql, { ...params, page_rows: asked });
    const once = rows.filter((row, at) => at === 0 || key.some((name) => valueOf(row, name) !== valueOf(rows[at - 1], name)));
    if (once.length >= most || rows.length < asked) return once.slice(0, most);
  }
}

const valueOf = (row: object | undefined, name: string): unknown => (row as Readonly<Record<string, unknown>> | undefined)?.[name];

function statementOf(spec: ListSpec<ColumnKinds>, read: readonly string[], clauses: readonly SqlCondition[]): string {
  const names = Object.keys(spec.key);
  const page = (columns: readonly string[], where: readonly string[]): string =>
    [
      `select ${columns.join(', ')} from ${spec.from}`,
      ...(where.length === 0 ? [] : [`where ${where.join(' and ')}`]),
      `order by ${names.map((name) => `${name} ${spec.direction}`).join(', ')}`,
      'limit {page_rows:UInt32}',
    ].join('\n');
  const where = clauses.map(({ sql }) => sql);
  const { keysFirst } = spec;
  if (keysFirst === undefined || read.every((name) => keysFirst.includes(name) || names.includes(name))) return page(read, where);
  const chosen = `(${keysFirst.join(', ')}) in (select ${keysFirst.join(', ')} from (${page([...new Set([...keysFirst, ...names])], where)}))`;
  return page(read, [...where.slice(0, 1), chosen]);
}

const only = <T extends object>(row: T, fields: readonly string[]): T =>
  Object.fromEntries(Object.entries(row).filter(([name]) => fields.includes(name))) as T;

const keyOf = (row: Readonly<Record<string, unknown>>, key: ListKey): CursorKey =>
  Object.entries(key).map(([name, kind]) => {
    const value = row[name];
    if (kind === 'Float64' && value === null) return null;
    return typeof value === 'number' ? value : String(value);
  });

/** The sort key of the last returned row; throws CURSOR_MISMATCH for a cursor of a list with another key. */
export const keyAt = (key: ListKey, cursor: string): CursorKey => cursorAt(key, cursor).key;

const cursorAt = (key: ListKey, cursor: string): PageCursor => decodeCursor(cursor, Object.values(key));

function afterCursor(spec: ListSpec<ColumnKinds>, cursor: string, ownTag: string): SqlCondition {
  const entries = Object.entries(spec.key);
  const { tag, key } = cursorAt(spec.key, cursor);
  if (tag !== ownTag) throw foreignCursor();
  const bound = entries.map(([, kind], index) =>
    kind === 'time' ? `parseDateTime64BestEffort({after_${index}:String}, 6, 'UTC')` : `{after_${index}:${kind}}`,
  );
  const sign = spec.direction === 'asc' ? '>' : '<';
  // Spelled out instead of as tuples, so that the primary index can skip everything before the cursor.
  const sql = entries
    .map(([name, kind], index) => ({ name, kind, value: key[index] === null ? undefined : (bound[index] ?? '') }))
    .reduceRight((rest, { name, kind, value }) => {
      const then = rest === '' ? '' : ` and ${rest}`;
      // NaN is last in both directions
      if (value === undefined) return `(isNaN(${name})${then})`;
      const later = `${name} ${sign} ${value}${kind === 'Float64' ? ` or isNaN(${name})` : ''}`;
      return `(${later}${rest === '' ? '' : ` or ${name} = ${value}${then}`})`;
    }, '');
  const params = key.flatMap((value, index) => (value === null ? [] : [[`after_${index}`, value] as const]));
  return { sql, params: Object.fromEntries(params) };
}

/** `column = value`, if a value is given. */
export function equals(column: string, type: string, value: string | number | boolean | undefined): readonly SqlCondition[] {
  return compare(column, { sign: '=', type }, value);
}

/** `column >= value` or `column <= value`, if a value is given. */
export function compare(
  column: string,
  how: { readonly sign: '=' | '>=' | '<='; readonly type: string },
  value: string | number | boolean | undefined,
): readonly SqlCondition[] {
  if (value === undefined) return [];
  const suffix = { '=': 'is', '>=': 'least', '<=': 'most' }[how.sign];
  const name = `${column}_${suffix}`;
  return [{ sql: `${column} ${how.sign} {${name}:${how.type}}`, params: { [name]: value } }];
}

/** The text contains the value, ignoring case. */
export function contains(column: string, value: string | undefined): readonly SqlCondition[] {
  if (value === undefined) return [];
  const name = `${column}_holds`;
  return [{ sql: `positionCaseInsensitiveUTF8(${column}, {${name}:String}) > 0`, params: { [name]: value } }];
}
