// Encodes rows as one block of ClickHouse's Native format, column by column. Compared with JSON, the server needs a fifth of the time to
// parse it, and this process a third of the time to write it.
//
// Invariants
// - A block is made only when every cell is exactly what its column holds: an integer within range, a string, a boolean. For anything else
// (null, a number out of range, an unknown type) no block is made, and the caller sends JSON: then ClickHouse applies its own rules to
// reject or convert the value.
// - The same rows give the same bytes.
import type { Column } from '../../streams/core/ports.ts';
import { type ColumnEncoding, kindOf } from './column-encodings.ts';
import { BlockPages } from './block-pages.ts';

interface NamedColumn {
  readonly name: string;
  /** The type name in ClickHouse. */
  readonly type: string;
  readonly cells: Column;
}

const ROWS_AT_ONCE = 256;

/** The server builds the dictionary of a LowCardinality column itself. */
const sentAs = (type: string): string => type.replace(/LowCardinality\((\w+)\)/g, '$1');

export interface NativeBlock {
  /** Its bytes, page by page. */
  readonly parts: Iterable<Buffer>;
  /** Returns the pages to the pool, when they are no longer read. */
  readonly release: () => void;
}

/** The block of all rows; undefined when a cell does not match its column. */
export function nativeBlock(columns: readonly NamedColumn[], rows: number): NativeBlock | undefined {
  const known: (NamedColumn & { readonly kind: ColumnEncoding })[] = [];
  for (const { name, type: stored, cells } of columns) {
    const type = sentAs(stored);
    const kind = kindOf(type);
    if (kind === undefined || !kind.fit(cells)) return undefined;
    known.push({ name, type, cells, kind });
  }
  const out = new BlockPages();
  return {
    parts: pagesOf(known, rows, out),
    release: () => {
      out.release();
    },
  };
}

function* pagesOf(columns: readonly (NamedColumn & { readonly kind: ColumnEncoding })[], rows: number, out: BlockPages): Generator<Buffer> {
  out.varint(columns.length);
  out.varint(rows);
  for (const { name, type, cells, kind } of columns) {
    out.text(name);
    out.text(type);
    for (const pass of kind.passes(cells)) {
      for (let from = 0; from < rows; from += ROWS_AT_ONCE) {
        pass(out, { from, to: Math.min(rows, from + ROWS_AT_ONCE) });
        yield* out.take(false);
      }
    }
  }
  yield* out.take(true);
}
