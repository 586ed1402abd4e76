// Encodes rows as one block of ClickHouse's Native format, column by column. Compared with JSON, the server needs a fifth of the time to
// parse it, and this process a third of the time to write it.
//
// Invariants
// - A block is made only when every cell is exactly what its column holds: an integer within range, a string, a boolean. For anything else
// (null, a number out of range, an unknown type) no block is made, and the caller sends JSON: then ClickHouse applies its own rules to
// reject or convert the value.
// - The same rows give the same bytes.
import type { Column } from '../../streams/core/ports.ts';
import { type ColumnEncoding, type EncodingPass, kindOf } from './column-encodings.ts';
import { BlockPages } from './block-pages.ts';

interface NamedColumn {
  readonly name: string;
  /** The type name in ClickHouse. */
  readonly type: string;
  readonly cells: Column;
}

interface KnownColumn extends NamedColumn {
  readonly kind: ColumnEncoding;
}

/** The records of so many rows, 2 kB each, fit in the cache of a processor core. */
const ROWS_AT_ONCE = 256;

/** The server builds the dictionary of a LowCardinality column itself. */
const sentAs = (type: string): string => type.replace(/LowCardinality\((\w+)\)/g, '$1');

export interface NativeBlock {
  /** Its bytes, page by page. */
  readonly parts: Iterable<Buffer>;
  /** Returns the pages to the pool; call it when they are no longer read. */
  readonly release: () => void;
}

/** The block of all rows; undefined when a cell does not match its column. */
export function nativeBlock(columns: readonly NamedColumn[], rows: number): NativeBlock | undefined {
  const known: KnownColumn[] = [];
  for (const { name, type: stored, cells } of columns) {
    const type = sentAs(stored);
    const kind = kindOf(type);
    if (kind === undefined || !kind.fit(cells)) return undefined;
    known.push({ name, type, cells, kind });
  }
  const lanes = lanesOf(known, rows);
  return {
    parts: partsOf(lanes, [known.length, rows]),
    release: () => {
      for (const { pages } of lanes) pages.release();
    },
  };
}

/** One pass over a column. */
interface Lane {
  /** What comes before the cells. */
  readonly titles: readonly string[];
  readonly pass: EncodingPass;
  readonly pages: BlockPages;
}

/** A lane for each pass, in the order of the block. Those of a small block share their pages, so that it is sent in one piece. */
function lanesOf(columns: readonly KnownColumn[], rows: number): readonly Lane[] {
  const shared = rows <= ROWS_AT_ONCE ? new BlockPages() : undefined;
  return columns.flatMap(({ name, type, cells, kind }) =>
    kind.passes(cells).map((pass, at) => ({ titles: at === 0 ? [name, type] : [], pass, pages: shared ?? new BlockPages() })),
  );
}

/** Writes some rows of all columns before the next rows, because their texts lie together in the records that the columns refer to. */
function* partsOf(lanes: readonly Lane[], [columns, rows]: readonly [number, number]): Generator<Buffer> {
  const first = lanes[0]?.pages ?? new BlockPages();
  first.varint(columns);
  first.varint(rows);
  for (let from = 0; from === 0 || from < rows; from += ROWS_AT_ONCE) {
    const range = { from, to: Math.min(rows, from + ROWS_AT_ONCE) };
    for (const { titles, pass, pages } of lanes) {
      if (from === 0) for (const title of titles) pages.text(title);
      pass(pages, range);
    }
    yield* first.take(false);
  }
  for (const { pages } of lanes) yield* pages.take(true);
}
