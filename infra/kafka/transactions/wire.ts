// The compact encoding of Kafka's protocol (KIP-482), as far as the requests in this folder need it. Every structure ends with tagged
// fields: none are written, and those of a response are skipped.

/** Fields in the order of the protocol. */
export class WireWriter {
  readonly #parts: Buffer[] = [];

  int16(value: number): this {
    const bytes = Buffer.alloc(2);
    bytes.writeInt16BE(value);
    return this.#add(bytes);
  }

  int32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return this.#add(bytes);
  }

  int64(value: bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(value);
    return this.#add(bytes);
  }

  boolean(value: boolean): this {
    return this.#add(Buffer.from([value ? 1 : 0]));
  }

  string(value: string): this {
    const bytes = Buffer.from(value);
    return this.#varint(bytes.length + 1).#add(bytes);
  }

  array<T>(items: readonly T[], write: (item: T) => void): this {
    this.#varint(items.length + 1);
    items.forEach(write);
    return this;
  }

  /** The end of a structure. */
  noTags(): this {
    return this.#varint(0);
  }

  toBuffer(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  #varint(value: number): this {
    const bytes: number[] = [];
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    return this.#add(Buffer.from([...bytes, rest]));
  }
}

/** Reads what WireWriter writes. Throws a RangeError at the end of the bytes. */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#pass(2));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#pass(4));
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#pass(8));
  }

  /** Null becomes an empty string. */
  string(): string {
    const length = Math.max(0, this.#varint() - 1);
    const start = this.#pass(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** Null becomes an empty array. */
  array<T>(read: () => T): T[] {
    const items: T[] = [];
    for (let left = this.#varint() - 1; left > 0; left -= 1) items.push(read());
    return items;
  }

  skipTags(): void {
    for (let left = this.#varint(); left > 0; left -= 1) {
      this.#varint();
      this.#pass(this.#varint());
    }
  }

  #pass(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new RangeError('a response of the broker ends in the middle of a field');
    this.#at += length;
    return start;
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#pass(1));
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }
}
