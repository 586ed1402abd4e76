// Encodes rows as the bytes of an INSERT. In every format the same rows give the same bytes, so that an insert that is repeated with its
// token is split into the same blocks.
import { rowsOf } from '../../streams/core/columns.ts';
import type { Cell, ColumnRows, Row, Rows } from '../../streams/core/ports.ts';
import { WIDEST } from '../../streams/core/utf8.ts';
import { nativeBlock, type NativeBlock } from './native-block.ts';

export interface EncodedRows {
  readonly format: string;
  /** Columns of the rows, in order; undefined when each row names its own. */
  readonly columns: readonly string[] | undefined;
  /** Generated piece by piece, so that a large batch does not block the event loop for long. */
  readonly parts: Iterable<Buffer>;
  /** Releases the memory of the parts; call it when they are no longer read. */
  readonly release: () => void;
}

const PART_BYTES = 512 * 1024;
const LINE_END = 10;

/** Types of a table's columns by name, in ClickHouse's notation. */
export type ColumnTypes = ReadonlyMap<string, string>;

/**
 * Chooses the format: a Native block when all rows have the same columns of known types and all values fit; JSON without repeated names
 * when only the columns are the same; otherwise one JSON object per row.
 */
export function encodeRows(given: Rows, types: ColumnTypes = new Map()): EncodedRows {
  const ready = 'columns' in given ? readyBlock(given, types) : undefined;
  if (ready !== undefined) return ready;
  const rows = rowsOf(given);
  const columns = sharedColumns(rows);
  const block = columns === undefined ? undefined : blockOf(rows, columns, types);
  if (block !== undefined) return { format: 'Native', columns, ...block };
  const release = (): void => undefined;
  if (columns === undefined) return { format: 'JSONEachRow', columns, parts: inParts(rows, (row) => JSON.stringify(row)), release };
  return { format: 'JSONCompactEachRow', columns, parts: inParts(rows, (row) => JSON.stringify(Object.values(row))), release };
}

function readyBlock(rows: ColumnRows, types: ColumnTypes): EncodedRows | undefined {
  const columns = [...rows.columns()].map(([name, cells]) => ({ name, cells, type: types.get(name) ?? '' }));
  const block = nativeBlock(columns, rows.length);
  return block === undefined ? undefined : { format: 'Native', columns: columns.map(({ name }) => name), ...block };
}

function blockOf(rows: readonly Row[], columns: readonly string[], types: ColumnTypes): NativeBlock | undefined {
  if (!columns.every((name) => types.has(name))) return undefined;
  const cells = columns.map((): Cell[] => new Array<Cell>(rows.length));
  rows.forEach((row, at) => {
    const values = Object.values(row);
    for (let column = 0; column < cells.length; column += 1) (cells[column] as Cell[])[at] = values[column] ?? null;
  });
  return nativeBlock(
    columns.map((name, at) => ({ name, type: types.get(name) ?? '', cells: cells[at] ?? [] })),
    rows.length,
  );
}

function sharedColumns(rows: readonly Row[]): readonly string[] | undefined {
  const columns = Object.keys(rows[0] ?? {});
  return columns.length > 0 && rows.every((row) => hasExactly(row, columns)) ? columns : undefined;
}

function hasExactly(row: Row, columns: readonly string[]): boolean {
  let at = 0;
  for (const name in row) {
    if (name !== columns[at] || row[name] === undefined) return false;
    at += 1;
  }
  return at === columns.length;
}

/** Each line is written directly to its place: joining strings first would cost more than making them. */
function* inParts(rows: readonly Row[], encode: (row: Row) => string): Generator<Buffer> {
  const encoder = new TextEncoder();
  let part = Buffer.allocUnsafe(PART_BYTES);
  let size = 0;
  for (const row of rows) {
    const line = encode(row);
    const room = line.length * WIDEST + 1;
    if (size + room > part.length) {
      if (size > 0) yield part.subarray(0, size);
      part = Buffer.allocUnsafe(Math.max(PART_BYTES, room));
      size = 0;
    }
    size += encoder.encodeInto(line, part.subarray(size)).written;
    part[size] = LINE_END;
    size += 1;
  }
  if (size > 0) yield part.subarray(0, size);
}
