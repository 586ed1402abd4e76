// A resource is a table of columns: it gives the SELECT list, the type of a row and the schema in the OpenAPI document, so
// that the three cannot differ. JSON field names are column names.
import { Type, type TSchema, type TUnsafe } from 'typebox';

type ColumnKind = 'text' | 'whole' | 'number' | 'flag' | 'time' | 'texts' | 'wholes' | 'numbers' | 'flags';
export type ColumnKinds = Readonly<Record<string, ColumnKind>>;

interface ValueByKind {
  readonly text: string;
  /** Integers over 2^53 lose precision; no column reaches that. */
  readonly whole: number;
  /** Null stands for NaN and the infinities. */
  readonly number: number | null;
  readonly flag: boolean;
  /** RFC 3339, UTC, or null where there is none. */
  readonly time: string | null;
  readonly texts: readonly string[];
  readonly wholes: readonly number[];
  readonly numbers: readonly (number | null)[];
  readonly flags: readonly boolean[];
}

export type RowOf<C extends ColumnKinds> = { readonly [K in keyof C]: ValueByKind[C[K]] };

/** `a, b, c` */
export const selectList = (columns: ColumnKinds): string => Object.keys(columns).join(', ');

const number = Type.Union([Type.Number(), Type.Null()]);

const schemas: Readonly<Record<ColumnKind, () => TSchema>> = {
  text: () => Type.String(),
  whole: () => Type.Integer(),
  number: () => number,
  flag: () => Type.Boolean(),
  time: () => Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  texts: () => Type.Array(Type.String()),
  wholes: () => Type.Array(Type.Integer()),
  numbers: () => Type.Array(number),
  flags: () => Type.Array(Type.Boolean()),
};

/** The OpenAPI description of a column that is returned only when `fields` names it. */
export const HEAVY = 'Returned only if `fields` names it.';

type Properties = Record<string, TSchema>;

const propertiesOf = (columns: ColumnKinds): Properties =>
  Object.fromEntries(Object.entries(columns).map(([name, kind]) => [name, schemas[kind]()]));

/** A schema that the document lists by this name, so that generated code has a type of that name. */
export const named = (title: string, properties: Properties): TSchema => Type.Object(properties, { title });

/** Schema of a row with all its columns; the heavy ones are optional. Columns are added over time, never renamed. */
export const schemaOf = (name: string, columns: ColumnKinds, heavy: ColumnKinds = {}): TSchema =>
  named(name, { ...propertiesOf(columns), ...optional(propertiesOf(heavy), { description: HEAVY }) });

const optional = (properties: Properties, more: object = {}): Properties =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, Type.Optional({ ...schema, ...more })]));

/** Schema of a row of a list that takes `fields`: the whole row, or the part of it that `fields` names. */
export function rowSchemaOf(name: string, columns: ColumnKinds, heavy: ColumnKinds = {}): TSchema {
  const light = propertiesOf(columns);
  const others = optional(propertiesOf(heavy), { description: HEAVY });
  const part = named(`${name}Part`, { ...optional(light), ...others });
  return Type.Union([schemaOf(name, columns, heavy), part]);
}

const nextCursor = Type.Union([Type.String(), Type.Null()], {
  description: 'Send it as `cursor` to get the next page. Null on the last page.',
});

/** Schema of one page of a list; `more` has the fields beside the rows. */
export const pageSchema = (name: string, item: TSchema, more: Properties = {}): TSchema =>
  named(`${name}Page`, { items: Type.Array(item), next_cursor: nextCursor, ...more });

/** The `response` of a route that answers 200 with this: documentation only, rows are typed by their readers. */
export const answers = (schema: TSchema, description = 'Found.'): { readonly 200: TUnsafe } => ({
  200: Type.Unsafe({ ...schema, 'x-response-description': description }),
});
