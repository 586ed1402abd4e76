// Splits rows into columns as they arrive, so that no object outlives its row: the garbage collector would copy thousands of rows that wait
// for their insert again and again.
//
// Invariant: `rows()` returns the added rows, cell by cell (half a surrogate pair becomes U+FFFD, as in a native block).
import type { Cell, Column, ColumnRows, Row } from '../../../streams/core/ports.ts';
import { putText, WIDEST } from '../../../streams/core/utf8.ts';

/** Just below the size for which glibc requests new memory from the system every time. */
const PAGE_BYTES = 120 * 1024;
const FIRST_ROOM = 64;

/** The cells of one column, all of the same kind. */
interface PackedColumn {
  fits(cell: Cell): boolean;
  push(cell: Cell): void;
  column(): Column;
  at(index: number): Cell;
}

class Numbers implements PackedColumn {
  #values = new Float64Array(FIRST_ROOM);
  #length = 0;

  fits(cell: Cell): boolean {
    return typeof cell === 'number';
  }

  push(cell: Cell): void {
    if (this.#length === this.#values.length) {
      const wider = new Float64Array(this.#length * 2);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.#length] = cell as number;
    this.#length += 1;
  }

  column(): Column {
    return this.#values.subarray(0, this.#length);
  }

  at(index: number): Cell {
    return this.#values[index] as number;
  }
}

class Flags implements PackedColumn {
  readonly #values: boolean[] = [];

  fits(cell: Cell): boolean {
    return typeof cell === 'boolean';
  }

  push(cell: Cell): void {
    this.#values.push(cell as boolean);
  }

  column(): Column {
    return this.#values;
  }

  at(index: number): Cell {
    return this.#values[index] as boolean;
  }
}

/** A shared buffer for the texts of all columns, one after the other. */
class TextPage {
  bytes = Buffer.allocUnsafe(PAGE_BYTES);
  end = 0;

  /** Returns the start position of the text. */
  put(text: string): number {
    const room = text.length * WIDEST;
    if (this.end + room > this.bytes.length) {
      this.bytes = Buffer.allocUnsafe(Math.max(PAGE_BYTES, room));
      this.end = 0;
    }
    const start = this.end;
    this.end = putText(this.bytes, text, start);
    return start;
  }
}

class PackedTexts implements PackedColumn {
  readonly #page: TextPage;
  readonly #sources: Buffer[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  constructor(page: TextPage) {
    this.#page = page;
  }

  fits(cell: Cell): boolean {
    return typeof cell === 'string';
  }

  push(cell: Cell): void {
    this.#starts.push(this.#page.put(cell as string));
    this.#sources.push(this.#page.bytes);
    this.#ends.push(this.#page.end);
  }

  column(): Column {
    return { kind: 'texts', sources: this.#sources, starts: this.#starts, ends: this.#ends };
  }

  at(index: number): Cell {
    return (this.#sources[index] as Buffer).toString('utf8', this.#starts[index], this.#ends[index]);
  }
}

/** Lists of single values. */
class Lists implements PackedColumn {
  readonly #page: TextPage;
  readonly #ends: number[] = [];
  #end = 0;
  /** Created by the first item. */
  #items: PackedColumn | undefined;

  constructor(page: TextPage) {
    this.#page = page;
  }

  fits(cell: Cell): boolean {
    if (!Array.isArray(cell)) return false;
    const items = cell as readonly Cell[];
    if (items.length === 0) return true;
    const known = this.#items ?? singlesFor(items[0] as Cell, this.#page);
    if (known === undefined) return false;
    for (const item of items) if (!known.fits(item)) return false;
    return true;
  }

  push(cell: Cell): void {
    const items = cell as readonly Cell[];
    for (const item of items) {
      this.#items ??= singlesFor(item, this.#page);
      this.#items?.push(item);
    }
    this.#end += items.length;
    this.#ends.push(this.#end);
  }

  column(): Column {
    return { kind: 'lists', ends: this.#ends, items: this.#items?.column() ?? [] };
  }

  at(index: number): Cell {
    const items: Cell[] = [];
    for (let at = this.#ends[index - 1] ?? 0; at < (this.#ends[index] as number); at += 1) items.push(this.#items?.at(at) ?? null);
    return items;
  }
}

/** Undefined for a cell that is not a single value. */
function singlesFor(cell: Cell, page: TextPage): PackedColumn | undefined {
  if (typeof cell === 'number') return new Numbers();
  if (typeof cell === 'string') return new PackedTexts(page);
  return typeof cell === 'boolean' ? new Flags() : undefined;
}

const cellsFor = (cell: Cell, page: TextPage): PackedColumn | undefined => (Array.isArray(cell) ? new Lists(page) : singlesFor(cell, page));

/** The first row determines the columns and their kinds. */
export class PackedRows implements ColumnRows {
  readonly #page = new TextPage();
  #names: readonly string[] = [];
  #cells: readonly PackedColumn[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds a row. False, without adding it, when its columns or the kinds of its cells differ from the first row. */
  add(row: Row): boolean {
    if (this.#length === 0 && !this.#begin(row)) return false;
    const values = Object.values(row);
    if (!this.#fits(row, values)) return false;
    for (let at = 0; at < values.length; at += 1) (this.#cells[at] as PackedColumn).push(values[at] as Cell);
    this.#length += 1;
    return true;
  }

  columns(): ReadonlyMap<string, Column> {
    return new Map(this.#names.map((name, at) => [name, (this.#cells[at] as PackedColumn).column()]));
  }

  rows(): readonly Row[] {
    return Array.from({ length: this.#length }, (_, index) =>
      Object.fromEntries(this.#names.map((name, at) => [name, (this.#cells[at] as PackedColumn).at(index)])),
    );
  }

  #begin(row: Row): boolean {
    const cells = Object.values(row).map((cell) => cellsFor(cell, this.#page));
    if (!cells.every((one) => one !== undefined)) return false;
    this.#names = Object.keys(row);
    this.#cells = cells;
    return true;
  }

  #fits(row: Row, values: readonly Cell[]): boolean {
    if (values.length !== this.#names.length) return false;
    let at = 0;
    for (const name in row) {
      if (name !== this.#names[at] || !(this.#cells[at] as PackedColumn).fits(values[at] as Cell)) return false;
      at += 1;
    }
    return true;
  }
}
