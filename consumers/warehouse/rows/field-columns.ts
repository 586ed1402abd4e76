// Columns of the fields of records, filled in one pass over the bytes of the records. Texts are not copied: a column refers to their place
// in these bytes. A row from which no value is taken has the default of the field.
import type { Cursor } from '../../../schemas/cursor.ts';
import type { FieldTake } from '../../../schemas/layout.ts';
import type { Column, TextColumn } from '../../../streams/core/ports.ts';

export type NamedColumns = Readonly<Record<string, Column>>;

/** The columns of one field. */
export interface FieldColumns {
  readonly take: FieldTake;
  columns(): NamedColumns;
}

/** Makes columns with one row for each value. */
export type MakeColumns = (values: readonly Buffer[]) => FieldColumns;

export type AvroType = string | readonly AvroType[] | AvroComplex;
interface AvroComplex {
  readonly type: AvroType;
  readonly items?: AvroType;
  readonly fields?: readonly AvroField[];
}
export interface AvroField {
  readonly name: string;
  readonly type: AvroType;
}

type CursorRead = (cursor: Cursor) => number;

const readWhole: CursorRead = (cursor) => cursor.number();
export const numberReads: ReadonlyMap<AvroType, CursorRead> = new Map<AvroType, CursorRead>([
  ['int', readWhole],
  ['long', readWhole],
  ['float', (cursor) => cursor.float()],
  ['double', (cursor) => cursor.double()],
]);

function readOf(type: AvroType): CursorRead {
  const read = numberReads.get(type);
  if (read === undefined) throw new RangeError(`no column is made of numbers of the type ${JSON.stringify(type)}`);
  return read;
}

export const complex = (type: AvroType | undefined): AvroComplex =>
  typeof type === 'object' && 'type' in type ? type : { type: type ?? 'null' };

export interface ColumnField {
  readonly name: string;
  /** Without its logical type. */
  readonly type: AvroType;
  /** Undefined for a field that stays in the log. */
  readonly column: string | undefined;
  /** The number in the cell of a row from which no value is taken. */
  readonly missing: number;
}

/** A column with one value per row. */
export function singleColumn({ type, column, missing }: ColumnField): MakeColumns {
  if (column === undefined) return () => ({ take: skipOf(type), columns: () => ({}) });
  if (type === 'string') return textColumn(column);
  return type === 'boolean' ? flagColumn(column) : numberColumn(column, { read: readOf(type), missing });
}

function skipOf(type: AvroType): FieldTake {
  if (type !== 'string' && type !== 'bytes') return type === 'boolean' ? (cursor) => (cursor.at += 1) : readOf(type);
  return (cursor) => {
    cursor.skip();
  };
}

const textColumn =
  (column: string): MakeColumns =>
  (values) => {
    const [starts, ends] = [new Uint32Array(values.length), new Uint32Array(values.length)];
    return {
      take(cursor, row) {
        const length = cursor.number();
        starts[row] = cursor.at;
        cursor.at += length;
        ends[row] = cursor.at;
      },
      columns: () => ({ [column]: { kind: 'texts', sources: values, starts, ends } }),
    };
  };

const flagColumn =
  (column: string): MakeColumns =>
  ({ length }) => {
    const cells = new Array<boolean>(length).fill(false);
    return {
      take(cursor, row) {
        cells[row] = cursor.bytes[cursor.at] === 1;
        cursor.at += 1;
      },
      columns: () => ({ [column]: cells }),
    };
  };

const numberColumn =
  (column: string, { read, missing }: { readonly read: CursorRead; readonly missing: number }): MakeColumns =>
  ({ length }) => {
    const cells = new Float64Array(length);
    if (missing !== 0) cells.fill(missing);
    return {
      take(cursor, row) {
        cells[row] = read(cursor);
      },
      columns: () => ({ [column]: cells }),
    };
  };

/** The columns of a nested record that may be missing. */
export function insideColumns(fields: readonly ColumnField[]): MakeColumns {
  const makers = fields.map(singleColumn);
  return (values) => {
    const parts = makers.map((make) => make(values));
    return {
      take(cursor, row) {
        if (cursor.number() === 0) return;
        for (const part of parts) part.take(cursor, row);
      },
      columns: () => merged(parts),
    };
  };
}

/** Texts in the order in which they are found. */
class FoundTexts implements TextColumn {
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

interface Listed extends ColumnField {
  readonly items: number[] | FoundTexts;
  readonly take: FieldTake;
}

function listedOf(field: ColumnField): Listed {
  const { type, column } = field;
  if (column === undefined) return { ...field, items: [], take: skipOf(type) };
  if (type === 'string') {
    const items = new FoundTexts();
    return {
      ...field,
      items,
      take: (cursor) => {
        items.take(cursor);
      },
    };
  }
  const [items, read]: [number[], CursorRead] = [[], readOf(type)];
  return { ...field, items, take: (cursor) => items.push(read(cursor)) };
}

export type ListFigures = Readonly<Record<string, { readonly of: (items: never) => number }>>;

/** A list for each field of the items, and figures of each list. */
export const listColumns =
  (fields: readonly ColumnField[], over: ListFigures = {}): MakeColumns =>
  ({ length }) => {
    const listed = fields.map(listedOf);
    const ends = new Uint32Array(length);
    const [first, ...others] = listed.map(({ take }) => take);
    let end = 0;
    return {
      take(cursor, row) {
        for (let count = cursor.number(); count > 0; count = cursor.number()) {
          end += count;
          for (; count > 0; count -= 1) {
            first?.(cursor, row);
            for (const take of others) take(cursor, row);
          }
        }
        ends[row] = end;
      },
      columns() {
        // a list that was not taken is empty
        for (let row = 1; row < length; row += 1) ends[row] = Math.max(ends[row] as number, ends[row - 1] as number);
        const columns: Record<string, Column> = figuresOf(over, listed, ends);
        for (const { column, items } of listed) if (column !== undefined) columns[column] = { kind: 'lists', ends, items };
        return columns;
      },
    };
  };

function figuresOf(over: ListFigures, listed: readonly Listed[], ends: Uint32Array): Record<string, Column> {
  const figures = Object.entries(over).map(([column, { of }]) => ({ column, of, cells: new Float64Array(ends.length) }));
  if (figures.length === 0) return {};
  const numbers = listed.flatMap(({ name, items }) => (items instanceof FoundTexts ? [] : [{ name, items }]));
  /** Reused for every row. */
  const spare: Record<string, number>[] = [];
  let at = 0;
  ends.forEach((end, row) => {
    const items: object[] = [];
    for (; at < end; at += 1) {
      const item = (spare[items.length] ??= {});
      for (const { name, items: cells } of numbers) item[name] = cells[at] ?? 0;
      items.push(item);
    }
    for (const { of, cells } of figures) cells[row] = of(items as never);
  });
  return Object.fromEntries(figures.map(({ column, cells }) => [column, cells]));
}

/** The same columns, but none when every row has the field at `unset`, its encoded default. */
export const sparseColumns =
  (make: MakeColumns, unset: Buffer): MakeColumns =>
  (values) => {
    let made: FieldColumns | undefined;
    const take: FieldTake = (cursor, row) => {
      if (cursor.isAt(unset)) cursor.at += unset.length;
      else (made ??= make(values)).take(cursor, row);
    };
    return { take: Object.assign(take, { unset }), columns: () => made?.columns() ?? {} };
  };

export const merged = (parts: readonly FieldColumns[]): NamedColumns =>
  Object.assign({}, ...parts.map((part) => part.columns())) as NamedColumns;
