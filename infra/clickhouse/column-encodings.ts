// How each type of column is written in ClickHouse's Native format. Each kind has its own loops. A shared loop that calls a function for
// each cell takes twice as long, because its call site sees the functions of all kinds.
import type { Cell, Column, ListColumn, TextColumn } from '../../streams/core/ports.ts';
import type { BlockPages } from './block-pages.ts';
import { putInt32, putInt64 } from './block-pages.ts';

/** Writes the cells `from` to `to` of a column. */
export type EncodingPass = (out: BlockPages, range: { readonly from: number; readonly to: number }) => void;

export interface ColumnEncoding {
  /** True when every cell fits such a column. */
  readonly fit: (cells: Column) => boolean;
  /** The passes run in sequence, each over the whole column. */
  readonly passes: (cells: Column) => readonly EncodingPass[];
}

type ColumnValues = readonly Cell[] | Float64Array;

const isTexts = (cells: Column): cells is TextColumn => 'kind' in cells && cells.kind === 'texts';

const isLists = (cells: Column): cells is ListColumn => 'kind' in cells && cells.kind === 'lists';

const isValues = (cells: Column): cells is ColumnValues => !('kind' in cells);

/** By index: an iterator creates an object per value. */
function every(values: ColumnValues, holds: (value: Cell) => boolean): boolean {
  for (let at = 0; at < values.length; at += 1) if (!holds(values[at] as Cell)) return false;
  return true;
}

const texts: ColumnEncoding = {
  fit(cells) {
    if (!isValues(cells)) return isTexts(cells);
    return every(cells, (cell) => typeof cell === 'string');
  },
  passes: (cells) => [isTexts(cells) ? lyingTexts(cells) : textsOf(cells as readonly string[])],
};

const textsOf =
  (cells: readonly string[]): EncodingPass =>
  (out, { from, to }) => {
    for (let at = from; at < to; at += 1) out.text(cells[at] as string);
  };

const lyingTexts =
  ({ sources, starts, ends }: TextColumn): EncodingPass =>
  (out, { from, to }) => {
    for (let at = from; at < to; at += 1) out.bytes(sources[at] as Buffer, starts[at] as number, ends[at] as number);
  };

/** For columns with one value per cell; `write` returns the pass that writes a range of them. */
const valued = (fit: (values: ColumnValues) => boolean, write: (values: ColumnValues) => EncodingPass): ColumnEncoding => ({
  fit: (cells) => isValues(cells) && fit(cells),
  passes: (cells) => [write(cells as ColumnValues)],
});

const flags = valued(
  (values) => every(values, (value) => typeof value === 'boolean'),
  (values) =>
    (out, { from, to }) => {
      const { page, at: start } = out.reserve(to - from);
      for (let at = from; at < to; at += 1) page[start + at - from] = values[at] === true ? 1 : 0;
    },
);

const fitWhole =
  (low: number, high: number) =>
  (values: ColumnValues): boolean =>
    values instanceof Float64Array
      ? areWhole(values, low, high)
      : every(values, (value) => Number.isSafeInteger(value) && (value as number) >= low && (value as number) <= high);

/** Without a call for each number. */
function areWhole(values: Float64Array, low: number, high: number): boolean {
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    if (!(value >= low && value <= high && Math.floor(value) === value)) return false;
  }
  return true;
}

/** Integers of one, two or four bytes. */
const narrow = (low: number, high: number, bytes: 1 | 2 | 4): ColumnEncoding =>
  valued(fitWhole(low, high), (values) => (out, { from, to }) => {
    const { page, at: start } = out.reserve((to - from) * bytes);
    let place = start;
    for (let at = from; at < to; at += 1) {
      const value = values[at] as number;
      if (bytes === 4) putInt32(page, value, place);
      else {
        page[place] = value & 0xff;
        if (bytes === 2) page[place + 1] = (value >> 8) & 0xff;
      }
      place += bytes;
    }
  });

/** Integers of eight bytes. */
const wide = (low: number, high: number): ColumnEncoding =>
  valued(fitWhole(low, high), (values) => (out, { from, to }) => {
    const { page, at: start } = out.reserve((to - from) * 8);
    for (let at = from; at < to; at += 1) putInt64(page, values[at] as number, start + (at - from) * 8);
  });

/** JSON cannot represent these numbers, so they are given by name. */
const denormals: Readonly<Record<string, number>> = { NaN, Infinity, '-Infinity': -Infinity };

const isFloat = (cell: Cell): boolean => typeof cell === 'number' || (typeof cell === 'string' && Object.hasOwn(denormals, cell));

const floatOf = (cell: Cell | undefined): number => (typeof cell === 'number' ? cell : (denormals[String(cell)] ?? NaN));

const float = (bytes: 4 | 8): ColumnEncoding =>
  valued(
    (values) => values instanceof Float64Array || every(values, isFloat),
    (values) =>
      (out, { from, to }) => {
        const { page, at: start } = out.reserve((to - from) * bytes);
        for (let at = from; at < to; at += 1) {
          if (bytes === 8) page.writeDoubleLE(floatOf(values[at]), start + (at - from) * 8);
          else page.writeFloatLE(floatOf(values[at]), start + (at - from) * 4);
        }
      },
  );

const SAFE = Number.MAX_SAFE_INTEGER;

const kinds: Readonly<Record<string, ColumnEncoding>> = {
  String: texts,
  Bool: flags,
  Int8: narrow(-128, 127, 1),
  Int16: narrow(-32_768, 32_767, 2),
  Int32: narrow(-2_147_483_648, 2_147_483_647, 4),
  Int64: wide(-SAFE, SAFE),
  UInt8: narrow(0, 255, 1),
  UInt16: narrow(0, 65_535, 2),
  UInt32: narrow(0, 4_294_967_295, 4),
  UInt64: wide(0, SAFE),
  Float32: float(4),
  Float64: float(8),
};

/** The range of DateTime64, in seconds. */
const [EARLIEST_S, LATEST_S] = [-2_208_988_800, 10_413_791_999];

function ticks(precision: number): ColumnEncoding {
  const factor = 10 ** precision;
  return wide(Math.max(EARLIEST_S * factor, -SAFE), Math.min(LATEST_S * factor, SAFE));
}

/** The end offsets of the arrays, then all their elements. */
function arrayOf(inner: ColumnEncoding): ColumnEncoding {
  return {
    fit(cells) {
      if (!isValues(cells)) return isLists(cells) && inner.fit(cells.items);
      for (const cell of cells) if (!Array.isArray(cell) || !inner.fit(cell as readonly Cell[])) return false;
      return true;
    },
    passes(cells) {
      const { ends, items } = isLists(cells) ? cells : listsOf(cells as readonly (readonly Cell[])[]);
      const offsets: EncodingPass = (out, { from, to }) => {
        const { page, at: start } = out.reserve((to - from) * 8);
        for (let at = from; at < to; at += 1) putInt64(page, ends[at] as number, start + (at - from) * 8);
      };
      const within = inner.passes(items).map((pass): EncodingPass => (out, { from, to }) => {
        const first = from === 0 ? 0 : (ends[from - 1] as number);
        const end = ends[to - 1] as number;
        if (end > first) pass(out, { from: first, to: end });
      });
      return [offsets, ...within];
    },
  };
}

function listsOf(cells: readonly (readonly Cell[])[]): Pick<ListColumn, 'ends' | 'items'> {
  let end = 0;
  const ends = cells.map((items) => {
    end += items.length;
    return end;
  });
  return { ends, items: cells.flat() };
}

export function kindOf(type: string): ColumnEncoding | undefined {
  const array = /^Array\((.*)\)$/.exec(type)?.[1];
  if (array !== undefined) {
    const inner = kindOf(array);
    return inner === undefined ? undefined : arrayOf(inner);
  }
  const precision = /^DateTime64\((\d)(?:, '[\w/+-]+')?\)$/.exec(type)?.[1];
  if (precision !== undefined) return ticks(Number(precision));
  return Object.hasOwn(kinds, type) ? kinds[type] : undefined;
}
