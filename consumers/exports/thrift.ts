// Thrift's compact protocol, as used in Parquet footers: decodes into a tree and encodes from one. Decoding and encoding again gives
// identical bytes, even with fields of newer versions.

type Scalar = 'byte' | 'i16' | 'i32' | 'i64';

export type ThriftValue =
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: Scalar; readonly value: bigint }
  | { readonly kind: 'double'; readonly value: Buffer }
  | { readonly kind: 'binary'; readonly value: Buffer }
  | { readonly kind: 'list' | 'set'; readonly element: number; readonly items: readonly ThriftValue[] }
  | { readonly kind: 'struct'; readonly fields: ReadonlyMap<number, ThriftValue> };

export type ThriftStruct = Extract<ThriftValue, { kind: 'struct' }>;
export type ThriftList = Extract<ThriftValue, { kind: 'list' | 'set' }>;

const TYPES = { true: 1, false: 2, byte: 3, i16: 4, i32: 5, i64: 6, double: 7, binary: 8, list: 9, set: 10, struct: 12 } as const;
const SCALARS: Readonly<Record<number, Scalar>> = { [TYPES.byte]: 'byte', [TYPES.i16]: 'i16', [TYPES.i32]: 'i32', [TYPES.i64]: 'i64' };
const STOP = 0;
const LONG_LIST = 15;
const MOST_DELTA = 15;
/** Deeper than any real footer. */
const MAX_DEPTH = 32;

/** Decodes one struct that fills all of `bytes`. Throws otherwise. */
export function decodeStruct(bytes: Buffer): ThriftStruct {
  const reader = new ThriftReader(bytes);
  const struct = reader.struct(0);
  if (!reader.atEnd()) throw new Error('bytes follow the struct');
  return struct;
}

class ThriftReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  struct(depth: number): ThriftStruct {
    if (depth > MAX_DEPTH) throw new Error('structs are nested too deeply');
    const fields = new Map<number, ThriftValue>();
    let id = 0;
    for (let head = this.#byte(); head !== STOP; head = this.#byte()) {
      const delta = head >> 4;
      id = delta === 0 ? Number(zigzag(this.#varint())) : id + delta;
      fields.set(id, this.#field(head & 0x0f, depth));
    }
    return { kind: 'struct', fields };
  }

  /** The type of a boolean field is its value. */
  #field(type: number, depth: number): ThriftValue {
    if (type === TYPES.true || type === TYPES.false) return { kind: 'bool', value: type === TYPES.true };
    return this.#value(type, depth);
  }

  #value(type: number, depth: number): ThriftValue {
    const scalar = SCALARS[type];
    if (scalar === 'byte') return { kind: scalar, value: BigInt(this.#byte()) };
    if (scalar !== undefined) return { kind: scalar, value: zigzag(this.#varint()) };
    switch (type) {
      case TYPES.true:
      case TYPES.false:
        return { kind: 'bool', value: this.#byte() === TYPES.true };
      case TYPES.double:
        return { kind: 'double', value: this.#take(8) };
      case TYPES.binary:
        return { kind: 'binary', value: this.#take(Number(this.#varint())) };
      case TYPES.list:
      case TYPES.set:
        return this.#list(type, depth + 1);
      case TYPES.struct:
        return this.struct(depth + 1);
      default:
        throw new Error(`${type} is no type of a footer`);
    }
  }

  #list(type: number, depth: number): ThriftList {
    const head = this.#byte();
    const element = head & 0x0f;
    const short = head >> 4;
    const size = short === LONG_LIST ? Number(this.#varint()) : short;
    const items: ThriftValue[] = [];
    for (let at = 0; at < size; at += 1) items.push(this.#value(element, depth));
    return { kind: type === TYPES.list ? 'list' : 'set', element, items };
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new Error('the struct has no end');
    this.#at += 1;
    return byte;
  }

  #take(size: number): Buffer {
    if (this.#at + size > this.#bytes.length) throw new Error('a text is longer than the struct');
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('a number has no end');
  }
}

const zigzag = (value: bigint): bigint => (value >> 1n) ^ -(value & 1n);
const unzigzag = (value: bigint): bigint => BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));

/** Encodes a struct with its fields in id order. */
export function encodeStruct(struct: ThriftStruct): Buffer {
  const writer = new ThriftWriter();
  writer.struct(struct);
  return writer.done();
}

/** The head of a list of structs; the structs follow, encoded by `encodeStruct`. */
export function encodeListHead(size: number): Buffer {
  const writer = new ThriftWriter();
  writer.listHead(TYPES.struct, size);
  return writer.done();
}

class ThriftWriter {
  readonly #parts: Buffer[] = [];

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }

  struct({ fields }: ThriftStruct): void {
    let last = 0;
    for (const [id, value] of [...fields].sort(([a], [b]) => a - b)) {
      this.#fieldHead(id - last, id, typeOf(value));
      if (value.kind !== 'bool') this.#value(value);
      last = id;
    }
    this.#byte(STOP);
  }

  listHead(element: number, size: number): void {
    if (size < LONG_LIST) {
      this.#byte((size << 4) | element);
      return;
    }
    this.#byte((LONG_LIST << 4) | element);
    this.#varint(BigInt(size));
  }

  #fieldHead(delta: number, id: number, type: number): void {
    if (delta > 0 && delta <= MOST_DELTA) {
      this.#byte((delta << 4) | type);
      return;
    }
    this.#byte(type);
    this.#varint(unzigzag(BigInt(id)));
  }

  #value(value: ThriftValue): void {
    switch (value.kind) {
      case 'bool':
        this.#byte(value.value ? TYPES.true : TYPES.false);
        return;
      case 'byte':
        this.#byte(Number(value.value));
        return;
      case 'i16':
      case 'i32':
      case 'i64':
        this.#varint(unzigzag(value.value));
        return;
      case 'double':
        this.#parts.push(value.value);
        return;
      case 'binary':
        this.#varint(BigInt(value.value.length));
        this.#parts.push(value.value);
        return;
      case 'struct':
        this.struct(value);
        return;
      default:
        this.#list(value);
    }
  }

  #list({ element, items }: ThriftList): void {
    this.listHead(element, items.length);
    for (const item of items) this.#value(item);
  }

  #byte(byte: number): void {
    this.#parts.push(Buffer.from([byte]));
  }

  #varint(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.#parts.push(Buffer.from(bytes));
  }
}

const typeOf = (value: ThriftValue): number => (value.kind === 'bool' ? (value.value ? TYPES.true : TYPES.false) : TYPES[value.kind]);
