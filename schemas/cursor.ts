/** Reads the variable-length numbers that Avro and Kafka share, and length-prefixed bytes, one after the other. */
export class Cursor {
  bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** A zigzag number of at most 53 bits. */
  number(): number {
    const { bytes } = this;
    const first = bytes[this.at] ?? 0;
    this.at += 1;
    // Most are below 64.
    if (first < 0x80) return (first >>> 1) ^ -(first & 1);
    let raw = first & 0x7f;
    let factor = 128;
    for (let count = 1; count < 10; count += 1) {
      const byte = bytes[this.at] ?? 0;
      this.at += 1;
      raw += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
      factor *= 128;
    }
    return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2;
  }

  /** Length-prefixed bytes; null for a negative length. */
  block(): Buffer | null {
    const length = this.number();
    if (length < 0) return null;
    const start = this.at;
    this.at = start + length;
    return this.bytes.subarray(start, this.at);
  }

  /** A float of 32 bits. */
  float(): number {
    this.at += 4;
    return this.bytes.readFloatLE(this.at - 4);
  }

  /** A float of 64 bits. */
  double(): number {
    this.at += 8;
    return this.bytes.readDoubleLE(this.at - 8);
  }

  /** True when the next bytes are these. */
  isAt(expected: Buffer): boolean {
    const { bytes, at: start } = this;
    for (let at = 0; at < expected.length; at += 1) if (bytes[start + at] !== expected[at]) return false;
    return true;
  }

  /** Skips length-prefixed bytes. */
  skip(): void {
    const length = this.number();
    if (length > 0) this.at += length;
  }
}
