// Lists of numbers in the bytes of a record in plain form, where each list is one block. Values are copied directly to their destination:
// floats as they are, because Avro and every machine that runs Node are little-endian; whole numbers by branch-free decoding, which is
// twice as fast because their lengths are unpredictable.
import { Cursor } from './cursor.ts';

/** A list in the bytes of a record. */
export interface PackedList<T> {
  readonly length: number;
  /** Copies the first `count` to `target` from `to` on. */
  copyTo(target: T, to: number, count: number): void;
}

abstract class PackedBlock {
  readonly length: number;
  protected readonly bytes: Buffer;
  /** Position of the first number. */
  protected readonly start: number;

  constructor(bytes: Buffer, at: number) {
    const cursor = new Cursor(bytes, at);
    this.length = cursor.number();
    this.bytes = bytes;
    this.start = cursor.at;
  }
}

/** An array of 32-bit whole numbers that begins at `at`. */
export class PackedWholes extends PackedBlock implements PackedList<Int32Array> {
  copyTo(target: Int32Array, to: number, count: number): void {
    const { bytes } = this;
    const end = to + count;
    let at = this.start;
    let raw = 0;
    let shift = 0;
    for (let place = to; place < end; at += 1) {
      const byte = bytes[at] as number;
      raw |= (byte & 0x7f) << shift;
      target[place] = (raw >>> 1) ^ -(raw & 1);
      // All ones while the number continues.
      const more = -(byte >>> 7);
      raw &= more;
      shift = (shift + 7) & more;
      place += more + 1;
    }
  }
}

/** An array of 32-bit floats that begins at `at`. */
export class PackedFloats extends PackedBlock implements PackedList<Float32Array> {
  copyTo(target: Float32Array, to: number, count: number): void {
    new Uint8Array(target.buffer, target.byteOffset + 4 * to, 4 * count).set(this.bytes.subarray(this.start, this.start + 4 * count));
  }
}
