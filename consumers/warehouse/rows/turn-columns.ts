// Builds the columns of `turns` from the bytes of records, without copying texts: the same cells that `turnRow` makes from events, at a
// fraction of the cost. Most of what a sink stores is turns. The columns follow the table of a turn's fields, and their layout follows
// the schema.
import type { Cursor } from '../../../schemas/cursor.ts';
import type { DecodedEvent, PlainBytes } from '../../../schemas/codec.ts';
import { turnFields } from '../../../schemas/rollouts/turn-fields.ts';
import { encodedDefaults } from '../../../schemas/defaults.ts';
import { latestSchema } from '../../../schemas/subjects.ts';
import type { Column, LogRecord } from '../../../streams/core/ports.ts';
import { originOf } from './cells.ts';
import { FoundTexts, TurnCursors } from './turn-cursors.ts';

export interface PlainTurn {
  readonly record: LogRecord;
  readonly decoded: Extract<DecodedEvent, { type: 'TurnRecorded' }>;
  readonly plain: PlainBytes;
}

type NamedColumns = Readonly<Record<string, Column>>;
type MakeColumns = (turns: TurnCursors) => NamedColumns;
type CursorRead = (cursor: Cursor) => number;

type AvroType = string | readonly AvroType[] | AvroComplex;
interface AvroComplex {
  readonly type: AvroType;
  readonly items?: AvroType;
  readonly fields?: readonly TurnSchemaField[];
}
interface TurnSchemaField {
  readonly name: string;
  readonly type: AvroType;
}

const readWhole: CursorRead = (cursor) => cursor.number();
const numberReads: ReadonlyMap<AvroType, CursorRead> = new Map<AvroType, CursorRead>([
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

const complex = (type: AvroType | undefined): AvroComplex => (typeof type === 'object' && 'type' in type ? type : { type: type ?? 'null' });
/** Without its logical type. */
const bare = (type: AvroType): AvroType => (complex(type).items === undefined ? complex(type).type : type);

function single(field: string, type: AvroType): (turns: TurnCursors) => Column {
  const { items } = complex(type);
  if (items === 'string') return (turns) => turns.textLists(field);
  if (items !== undefined) return (turns) => turns.numberLists(field, readOf(items));
  if (type === 'string') return (turns) => turns.text(field);
  if (type === 'boolean') return (turns) => turns.flags(field);
  const read = readOf(type);
  return (turns) => turns.numbers(field, read);
}

interface Nested {
  readonly name: string;
  readonly type: AvroType;
  /** Undefined for one that stays in the log. */
  readonly column: string | undefined;
  readonly missing: number;
}

type NestedSpecs = Readonly<Record<string, { readonly column?: string; readonly missing?: number | '' }>>;

/** In the order of their bytes. */
const nestedOf = (record: AvroType | undefined, specs: NestedSpecs): readonly Nested[] =>
  (complex(record).fields ?? []).map(({ name, type }) => ({
    ...{ name, type: bare(type), column: specs[name]?.column },
    missing: Number(specs[name]?.missing ?? 0),
  }));

/** Passes over a value. */
function skipOf(type: AvroType): (cursor: Cursor) => void {
  if (type !== 'string' && type !== 'bytes') return type === 'boolean' ? (cursor) => (cursor.at += 1) : readOf(type);
  return (cursor) => {
    cursor.skip();
  };
}

type ListReads = Readonly<Record<string, { readonly of: (items: never) => number }>>;
type Listed = readonly { readonly name: string; readonly column: string | undefined; readonly values: number[] | FoundTexts }[];

/** A list for each field of the records, and figures of each list of records. */
function eachColumns(field: string, nested: readonly Nested[], over: ListReads): MakeColumns {
  return (turns) => {
    const listed: Listed = nested.map(({ name, type, column }) => ({ name, column, values: type === 'string' ? new FoundTexts() : [] }));
    const takes = nested.map(({ type, column }, at) => {
      const values = listed[at]?.values;
      if (column === undefined || values === undefined) return skipOf(type);
      if (values instanceof FoundTexts)
        return (cursor: Cursor) => {
          values.take(cursor);
        };
      const read = readOf(type);
      return (cursor: Cursor) => values.push(read(cursor));
    });
    const ends = turns.items(field, (cursor) => {
      for (const take of takes) take(cursor);
    });
    const columns: Record<string, Column> = {};
    const figures = Object.entries(over);
    const lists = figures.length > 0 ? itemsOf(listed, ends) : [];
    for (const [column, { of }] of figures) columns[column] = Float64Array.from(lists, (items) => of(items as never));
    for (const { column, values } of listed) if (column !== undefined) columns[column] = { kind: 'lists', ends, items: values };
    return columns;
  };
}

/** The items of each row as objects, for the figures of a list. */
function itemsOf(listed: Listed, ends: readonly number[]): readonly (readonly object[])[] {
  const numbers = listed.flatMap(({ name, values }) => (values instanceof FoundTexts ? [] : [{ name, values }]));
  let at = 0;
  return ends.map((end) => {
    const items: object[] = [];
    for (; at < end; at += 1) {
      const item: Record<string, number> = {};
      for (const { name, values } of numbers) item[name] = values[at] ?? 0;
      items.push(item);
    }
    return items;
  });
}

/** A column for each field of a record that may be missing. */
function insideColumns(field: string, nested: readonly Nested[]): MakeColumns {
  return (turns) => {
    const rows = turns.values.length;
    const columns: Record<string, Column> = {};
    const takes = nested.map(({ type, column, missing }): ((cursor: Cursor, row: number) => void) => {
      if (column === undefined) return skipOf(type);
      if (type === 'string') {
        const [starts, ends] = [new Uint32Array(rows), new Uint32Array(rows)];
        // a default is null, so a text is never in the defaults
        columns[column] = { kind: 'texts', sources: turns.values, starts, ends };
        return (cursor, row) => {
          const length = cursor.number();
          starts[row] = cursor.at;
          cursor.at += length;
          ends[row] = cursor.at;
        };
      }
      const [cells, read] = [new Float64Array(rows).fill(missing), readOf(type)];
      columns[column] = cells;
      return (cursor, row) => {
        cells[row] = read(cursor);
      };
    });
    turns.each(field, (cursor, row) => {
      if (cursor.number() === 0) return;
      for (const take of takes) take(cursor, row);
    });
    return columns;
  };
}

/** What the table says of a field, as far as columns need it. */
interface ColumnSpec {
  readonly about?: string;
  readonly column?: string;
  readonly sparse?: true;
  readonly each?: NestedSpecs;
  readonly inside?: NestedSpecs;
  readonly over?: ListReads;
}

const isUnion = (type: AvroType): type is readonly AvroType[] => Array.isArray(type);

function columnsOf({ name, type }: TurnSchemaField, spec: ColumnSpec): MakeColumns {
  if (spec.each !== undefined) return eachColumns(name, nestedOf(complex(type).items, spec.each), spec.over ?? {});
  if (spec.inside !== undefined) return insideColumns(name, nestedOf(isUnion(type) ? type[1] : type, spec.inside));
  if (spec.about === undefined) return () => ({});
  const [column, make] = [spec.column ?? name, single(name, bare(type))];
  return (turns) => ({ [column]: make(turns) });
}

const newest = latestSchema('TurnRecorded').schema;
const defaults = encodedDefaults(newest);

function makerOf(field: TurnSchemaField): MakeColumns {
  const spec = (turnFields as Readonly<Record<string, ColumnSpec>>)[field.name] ?? {};
  const make = columnsOf(field, spec);
  const unset = spec.sparse === true ? defaults.get(field.name) : undefined;
  if (unset === undefined) return make;
  return (turns) => (turns.allHave(field.name, unset) ? {} : make(turns));
}

const { fields } = JSON.parse(newest) as { readonly fields: readonly TurnSchemaField[] };
const makers = fields.map(makerOf);

function originColumns(turns: readonly PlainTurn[]): NamedColumns {
  const origins = turns.map(({ record }) => originOf(record));
  return {
    _topic: origins.map(({ _topic }) => _topic),
    _partition: origins.map(({ _partition }) => _partition),
    _offset: origins.map(({ _offset }) => _offset),
    _timestamp: origins.map(({ _timestamp }) => _timestamp),
  };
}

/** Cells of the columns of `turns`, in the order of the turns, less the columns of sparse fields that none of them has set. */
export function turnColumns(plain: readonly PlainTurn[]): ReadonlyMap<string, Column> {
  const turns = new TurnCursors(plain.map((turn) => turn.plain));
  const columns: NamedColumns = Object.assign({}, ...makers.map((make) => make(turns)), originColumns(plain)) as NamedColumns;
  return new Map(Object.entries(columns));
}
