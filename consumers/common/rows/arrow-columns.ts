// The types of Arrow columns that rows need: how each is described in the schema, and how its buffers are filled.
import type { PolicySpan } from '../../../schemas/generated/events.ts';
import type { TokenRow } from '../../../streams/rows/row.ts';
import { byte, int, short, table, tables, text, type FlatFields, type FlatValue } from './flatbuffer.ts';

/** A buffer as a list of consecutive pieces. */
type Pieces = readonly Uint8Array[];

interface FilledColumn {
  /** One per field and child field, depth first. */
  readonly nodes: readonly { readonly length: number; readonly nulls: number }[];
  readonly buffers: readonly Pieces[];
}

export interface ArrowField {
  readonly schema: FlatFields;
  readonly fill: (rows: readonly TokenRow[]) => FilledColumn;
}

interface ArrowType {
  /** Value of `Type` in Arrow's Schema.fbs. */
  readonly id: number;
  readonly detail: FlatValue;
}

const whole = (bits: number, isSigned: boolean): ArrowType => ({ id: 2, detail: table(int(bits), byte(isSigned ? 1 : 0)) });
const float = (precision: number): ArrowType => ({ id: 3, detail: table(short(precision)) });
const [SINGLE, DOUBLE] = [1, 2];
const UTF8: ArrowType = { id: 5, detail: table() };
const BOOL: ArrowType = { id: 6, detail: table() };
const LIST: ArrowType = { id: 12, detail: table() };
const STRUCT: ArrowType = { id: 13, detail: table() };
const numbers = { int32: whole(32, true), uint8: whole(8, false), float32: float(SINGLE) } as const;

type NumberArray = Int32Array | Uint8Array | Float32Array | Float64Array;

const fieldOf = (
  name: string,
  { id, detail }: ArrowType,
  more: { nullable?: boolean; children?: readonly FlatFields[] } = {},
): FlatFields => [text(name), byte(more.nullable === true ? 1 : 0), byte(id), detail, undefined, tables(...(more.children ?? []))];

const bytesOf = (values: NumberArray): Uint8Array => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
/** An absent validity bitmap: no value is null. */
const NONE: Pieces = [];
const node = (length: number, nulls = 0): { length: number; nulls: number } => ({ length, nulls });
const plain = (values: NumberArray): FilledColumn => ({ nodes: [node(values.length)], buffers: [NONE, [bytesOf(values)]] });

export const int32 = (name: string, of: (row: TokenRow) => number): ArrowField => ({
  schema: fieldOf(name, numbers.int32),
  fill: (rows) => plain(Int32Array.from(rows, of)),
});

export const float64 = (name: string, of: (row: TokenRow) => number): ArrowField => ({
  schema: fieldOf(name, float(DOUBLE)),
  fill: (rows) => plain(Float64Array.from(rows, of)),
});

/** Null where the value is NaN. */
export const float32 = (name: string, of: (row: TokenRow) => number): ArrowField => ({
  schema: fieldOf(name, numbers.float32, { nullable: true }),
  fill(rows) {
    const known = rows.map((row) => !Number.isNaN(of(row)));
    const values = Float32Array.from(rows, (row, at) => (known[at] === true ? of(row) : 0));
    return { nodes: [node(rows.length, known.filter((one) => !one).length)], buffers: [[bitsOf(known)], [bytesOf(values)]] };
  },
});

export const flag = (name: string, of: (row: TokenRow) => boolean): ArrowField => ({
  schema: fieldOf(name, BOOL),
  fill: (rows) => ({ nodes: [node(rows.length)], buffers: [NONE, [bitsOf(rows.map(of))]] }),
});

/** One bit per value, least significant first. */
function bitsOf(flags: readonly boolean[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(flags.length / 8));
  flags.forEach((isSet, at) => {
    if (isSet) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
  });
  return bits;
}

export const utf8 = (name: string, of: (row: TokenRow) => string): ArrowField => ({
  schema: fieldOf(name, UTF8),
  fill(rows) {
    const texts = rows.map((row) => Buffer.from(of(row)));
    return { nodes: [node(rows.length)], buffers: [NONE, [bytesOf(endsOf(texts))], texts] };
  },
});

export const listOf = (name: string, type: keyof typeof numbers, of: (row: TokenRow) => NumberArray): ArrowField => ({
  schema: fieldOf(name, LIST, { children: [fieldOf('item', numbers[type])] }),
  fill(rows) {
    const lists = rows.map(of);
    const ends = endsOf(lists);
    return { nodes: [node(rows.length), node(ends.at(-1) ?? 0)], buffers: [NONE, [bytesOf(ends)], NONE, lists.map(bytesOf)] };
  },
});

export const spanList = (name: string, of: (row: TokenRow) => readonly PolicySpan[]): ArrowField => {
  const members = [fieldOf('version', numbers.int32), fieldOf('tokens', numbers.int32)];
  return {
    schema: fieldOf(name, LIST, { children: [fieldOf('item', STRUCT, { children: members })] }),
    fill(rows) {
      const lists = rows.map(of);
      const spans = lists.flat();
      const [versions, tokens] = [
        plain(Int32Array.from(spans, ({ version }) => version)),
        plain(Int32Array.from(spans, (one) => one.tokens)),
      ];
      return {
        nodes: [node(rows.length), node(spans.length), ...versions.nodes, ...tokens.nodes],
        buffers: [NONE, [bytesOf(endsOf(lists))], NONE, ...versions.buffers, ...tokens.buffers],
      };
    },
  };
};

/** Arrow's offsets buffer: the start of each list, and the end of the last. */
function endsOf(lists: readonly { readonly length: number }[]): Int32Array {
  const ends = new Int32Array(lists.length + 1);
  lists.forEach(({ length }, at) => {
    ends[at + 1] = (ends[at] ?? 0) + length;
  });
  return ends;
}
