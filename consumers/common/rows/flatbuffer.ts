// Writes FlatBuffers, the format of Arrow's messages, from a description of their tables. Children follow their parents, so every offset
// points forward.
// https://flatbuffers.dev/internals

export type FlatValue =
  | { readonly kind: 'number'; readonly bytes: 1 | 2 | 4 | 8; readonly value: number }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'table'; readonly fields: FlatFields }
  | { readonly kind: 'tables'; readonly tables: readonly FlatFields[] }
  /** Structs of 64-bit numbers, `width` in each. */
  | { readonly kind: 'structs'; readonly width: number; readonly values: readonly number[] };

/** The fields of a table in the order of their ids; undefined = default. */
export type FlatFields = readonly (FlatValue | undefined)[];

export const byte = (value: number): FlatValue => ({ kind: 'number', bytes: 1, value });
export const short = (value: number): FlatValue => ({ kind: 'number', bytes: 2, value });
export const int = (value: number): FlatValue => ({ kind: 'number', bytes: 4, value });
export const long = (value: number): FlatValue => ({ kind: 'number', bytes: 8, value });
export const text = (value: string): FlatValue => ({ kind: 'text', text: value });
export const table = (...fields: FlatFields): FlatValue => ({ kind: 'table', fields });
export const tables = (...all: readonly FlatFields[]): FlatValue => ({ kind: 'tables', tables: all });
export const structs = (width: number, values: readonly number[]): FlatValue => ({ kind: 'structs', width, values });

/** The bytes of a message whose root is a table with these fields; a multiple of 8. */
export function flatbufferOf(...fields: FlatFields): Buffer {
  const writer = new FlatWriter();
  const root = writer.reserve(4);
  writer.point(root, writer.table(fields));
  return writer.finish();
}

class FlatWriter {
  #bytes = Buffer.alloc(1_024);
  #end = 0;

  finish(): Buffer {
    this.#align(8);
    return this.#bytes.subarray(0, this.#end);
  }

  /** Reserves `count` zero bytes. */
  reserve(count: number): number {
    const at = this.#end;
    if (at + count > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length + count)]);
    this.#end += count;
    return at;
  }

  /** Writes the relative offset of `to` at `at`. */
  point(at: number, to: number): void {
    this.#bytes.writeUInt32LE(to - at, at);
  }

  /** Returns the start of the table, which follows its vtable. */
  table(fields: FlatFields): number {
    const vtable = this.#align(2);
    const vtableBytes = 4 + 2 * fields.length;
    this.reserve(vtableBytes);
    const start = this.#align(8);
    this.reserve(4);
    this.#bytes.writeInt32LE(start - vtable, start);
    const places = fields.map((field) => (field === undefined ? 0 : this.#slot(field)));
    this.#bytes.writeUInt16LE(vtableBytes, vtable);
    this.#bytes.writeUInt16LE(this.#end - start, vtable + 2);
    places.forEach((place, id) => this.#bytes.writeUInt16LE(place === 0 ? 0 : place - start, vtable + 4 + 2 * id));
    fields.forEach((field, id) => {
      if (field !== undefined && field.kind !== 'number') this.point(places[id] ?? 0, this.#child(field));
    });
    return start;
  }

  #slot(field: FlatValue): number {
    const bytes = field.kind === 'number' ? field.bytes : 4;
    this.#align(bytes);
    const at = this.reserve(bytes);
    if (field.kind !== 'number') return at;
    if (field.bytes === 8) this.#bytes.writeBigInt64LE(BigInt(field.value), at);
    else this.#bytes.writeIntLE(field.value, at, field.bytes);
    return at;
  }

  #child(field: Exclude<FlatValue, { readonly kind: 'number' }>): number {
    switch (field.kind) {
      case 'text':
        return this.#text(field.text);
      case 'table':
        return this.table(field.fields);
      case 'tables':
        return this.#tables(field.tables);
      case 'structs':
        return this.#structs(field);
    }
  }

  #text(value: string): number {
    const bytes = Buffer.from(value);
    this.#align(4);
    const at = this.reserve(4 + bytes.length + 1);
    this.#bytes.writeUInt32LE(bytes.length, at);
    bytes.copy(this.#bytes, at + 4);
    return at;
  }

  #tables(all: readonly FlatFields[]): number {
    this.#align(4);
    const at = this.reserve(4 + 4 * all.length);
    this.#bytes.writeUInt32LE(all.length, at);
    all.forEach((fields, index) => {
      this.point(at + 4 + 4 * index, this.table(fields));
    });
    return at;
  }

  #structs({ width, values }: { readonly width: number; readonly values: readonly number[] }): number {
    // the elements must be aligned, not the count before them
    this.#align(8, 4);
    const at = this.reserve(4 + 8 * values.length);
    this.#bytes.writeUInt32LE(values.length / width, at);
    values.forEach((value, index) => this.#bytes.writeBigInt64LE(BigInt(value), at + 4 + 8 * index));
    return at;
  }

  /** Pads so that the position `ahead` bytes later is a multiple of `bytes`. */
  #align(bytes: number, ahead = 0): number {
    const over = (this.#end + ahead) % bytes;
    this.reserve(over === 0 ? 0 : bytes - over);
    return this.#end;
  }
}
