// The positions of the fields of many turns, each in the bytes of its record or in the defaults of the schema version that wrote it.
import { Cursor } from '../../../schemas/cursor.ts';
import { FRAME_BYTES } from '../../../schemas/framing.ts';
import type { PlainBytes } from '../../../schemas/codec.ts';
import type { RecordLayout } from '../../../schemas/layout.ts';
import type { ListColumn, TextColumn } from '../../../streams/core/ports.ts';

const NOTHING = Buffer.alloc(0);

/** Reads the value of one turn, and moves the cursor past it. */
type Take = (cursor: Cursor, row: number) => void;

/** Returns their number. */
function eachItem(cursor: Cursor, take: (cursor: Cursor) => void): number {
  let items = 0;
  for (let count = cursor.number(); count > 0; count = cursor.number()) {
    for (let left = count; left > 0; left -= 1) take(cursor);
    items += count;
  }
  return items;
}

function liesAt(bytes: Buffer, start: number, encoded: Buffer): boolean {
  for (let at = 0; at < encoded.length; at += 1) if (bytes[start + at] !== encoded[at]) return false;
  return true;
}

/** Texts in the order in which they are found. */
export class FoundTexts implements TextColumn {
  readonly kind = 'texts';
  readonly sources: Buffer[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];

  take(cursor: Cursor): void {
    const length = cursor.number();
    this.sources.push(cursor.bytes);
    this.starts.push(cursor.at);
    cursor.at += length;
    this.ends.push(cursor.at);
  }
}

/** The turns of one table, of one or of several versions of the schema. */
export class TurnCursors {
  readonly values: readonly Buffer[];
  readonly #layouts: readonly RecordLayout[];
  readonly #fields: readonly string[];
  readonly #starts: Int32Array;

  constructor(turns: readonly PlainBytes[]) {
    this.values = turns.map(({ value }) => value);
    this.#layouts = turns.map(({ layout }) => layout);
    this.#fields = turns[0]?.layout.fields ?? [];
    const width = this.#fields.length;
    this.#starts = new Int32Array(turns.length * width);
    turns.forEach(({ value, layout }, row) => {
      layout.locate(value, FRAME_BYTES, this.#starts.subarray(row * width, (row + 1) * width));
    });
  }

  /** Calls with a cursor at the field of each turn in order; the cursor is reused. */
  each(field: string, take: Take): void {
    const cursor = new Cursor(NOTHING);
    const width = this.#fields.length;
    let place = this.#fields.indexOf(field);
    for (let row = 0; row < this.values.length; row += 1) {
      const start = this.#starts[place] as number;
      cursor.bytes = start < 0 ? (this.#layouts[row] as RecordLayout).defaults : (this.values[row] as Buffer);
      cursor.at = start < 0 ? ~start : start;
      take(cursor, row);
      place += width;
    }
  }

  /** True when every turn has this value in the field or uses its default. False also for a value in a longer encoding. */
  allHave(field: string, encoded: Buffer): boolean {
    const width = this.#fields.length;
    let place = this.#fields.indexOf(field);
    for (const value of this.values) {
      const start = this.#starts[place] as number;
      if (start >= 0 && !liesAt(value, start, encoded)) return false;
      place += width;
    }
    return true;
  }

  text(field: string): TextColumn {
    const { values } = this;
    const starts = new Uint32Array(values.length);
    const ends = new Uint32Array(values.length);
    let sources: Buffer[] | undefined;
    this.each(field, (cursor, row) => {
      const length = cursor.number();
      starts[row] = cursor.at;
      ends[row] = cursor.at + length;
      if (cursor.bytes === values[row]) return;
      sources ??= [...values];
      sources[row] = cursor.bytes;
    });
    return { kind: 'texts', sources: sources ?? values, starts, ends };
  }

  numbers(field: string, read: (cursor: Cursor) => number): Float64Array {
    const column = new Float64Array(this.values.length);
    this.each(field, (cursor, row) => {
      column[row] = read(cursor);
    });
    return column;
  }

  flags(field: string): readonly boolean[] {
    const column: boolean[] = [];
    this.each(field, ({ bytes, at }) => {
      column.push(bytes[at] === 1);
    });
    return column;
  }

  /** Calls for each item of the lists. Returns the end of each turn's list. */
  items(field: string, take: (cursor: Cursor) => void): readonly number[] {
    const ends: number[] = [];
    let end = 0;
    this.each(field, (cursor) => {
      end += eachItem(cursor, take);
      ends.push(end);
    });
    return ends;
  }

  numberLists(field: string, read: (cursor: Cursor) => number): ListColumn {
    const items: number[] = [];
    const ends = this.items(field, (cursor) => items.push(read(cursor)));
    return { kind: 'lists', ends, items };
  }

  textLists(field: string): ListColumn {
    const items = new FoundTexts();
    const ends = this.items(field, (cursor) => {
      items.take(cursor);
    });
    return { kind: 'lists', ends, items };
  }
}
