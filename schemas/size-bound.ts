// Upper bounds of the encoded size of a record's fields, derived from its schema, to know whether a record fits without encoding it.

type Schema = string | readonly Schema[] | Complex;

interface Complex {
  readonly type: Schema;
  readonly name?: string;
  readonly items?: Schema;
  readonly fields?: readonly Field[];
}

interface Field {
  readonly name: string;
  readonly type: Schema;
}

type Bound = (value: unknown) => number;

/** Maximum size of a length or count, and of any number, bytes. */
const [COUNT_BYTES, LONG_BYTES] = [5, 10];

const length = (value: unknown): number => (value as { readonly length: number }).length;

const primitives: ReadonlyMap<string, Bound> = new Map<string, Bound>([
  ['null', () => 0],
  ['boolean', () => 1],
  ['int', () => COUNT_BYTES],
  ['long', () => LONG_BYTES],
  ['float', () => 4],
  ['double', () => 8],
  ['string', (text) => Buffer.byteLength(text as string) + COUNT_BYTES],
  ['bytes', (bytes) => length(bytes) + COUNT_BYTES],
]);

/** The exact size, because token ids take only half of their upper bound. */
function integersBytes(values: readonly number[]): number {
  let bytes = 0;
  for (const value of values) {
    const raw = value < 0 ? -2 * value - 1 : 2 * value;
    bytes += raw < 0x80 ? 1 : raw < 0x4000 ? 2 : raw < 0x20_0000 ? 3 : raw < 0x1000_0000 ? 4 : COUNT_BYTES;
  }
  return bytes;
}

function arrayBound(items: Schema, named: Map<string, Bound>): Bound {
  if (items === 'int') return (values) => 2 * COUNT_BYTES + integersBytes(values as readonly number[]);
  if (items === 'float') return (values) => 2 * COUNT_BYTES + 4 * length(values);
  const bound = boundOf(items, named);
  return (values) => (values as readonly unknown[]).reduce<number>((sum, value) => sum + bound(value), 2 * COUNT_BYTES);
}

function recordBound({ name = '', fields = [] }: Complex, named: Map<string, Bound>): Bound {
  const bounds = fields.map((field) => [field.name, boundOf(field.type, named)] as const);
  const bound: Bound = (value) => {
    let bytes = 0;
    for (const [field, of] of bounds) bytes += of((value as Readonly<Record<string, unknown>>)[field]);
    return bytes;
  };
  named.set(name, bound);
  return bound;
}

const isUnion = (type: Schema): type is readonly Schema[] => Array.isArray(type);

function boundOf(type: Schema, named: Map<string, Bound>): Bound {
  if (typeof type === 'string') {
    const bound = primitives.get(type) ?? named.get(type);
    if (bound === undefined) throw new RangeError(`no size is known for ${type}`);
    return bound;
  }
  if (isUnion(type)) return optionalBound(type, named);
  if (type.type === 'array' && type.items !== undefined) return arrayBound(type.items, named);
  return type.type === 'record' ? recordBound(type, named) : boundOf(type.type, named);
}

/** Our unions are null and one more type. */
function optionalBound(branches: readonly Schema[], named: Map<string, Bound>): Bound {
  const [bound] = branches.filter((branch) => branch !== 'null').map((branch) => boundOf(branch, named));
  return (value) => 1 + (value === null || bound === undefined ? 0 : bound(value));
}

/** The bounds of a record's fields, by the text of its schema. */
export function sizeBounds<T>(schema: string): { readonly [F in keyof T]: (value: T[F]) => number } {
  const { fields = [] } = JSON.parse(schema) as Complex;
  const named = new Map<string, Bound>();
  return Object.fromEntries(fields.map(({ name, type }) => [name, boundOf(type, named)])) as {
    readonly [F in keyof T]: (value: T[F]) => number;
  };
}
