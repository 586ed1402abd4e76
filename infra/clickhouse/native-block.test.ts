import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Cell, Column } from '../../streams/core/ports.ts';
import { nativeBlock } from './native-block.ts';

const bytesOf = (type: string, cells: readonly Cell[]): Buffer | undefined => {
  const block = nativeBlock([{ name: 'c', type, cells }], cells.length);
  return block === undefined ? undefined : Buffer.concat([...block.parts]);
};

/** Decodes blocks according to ClickHouse's documentation, independent of the encoder. */
class BlockDecoder {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  varint(): number {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = this.bytes.readUInt8(this.at);
      this.at += 1;
      value += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) return value;
    }
  }

  text(): string {
    const length = this.varint();
    this.at += length;
    return this.bytes.toString('utf8', this.at - length, this.at);
  }

  column(type: string, rows: number): readonly unknown[] {
    const inner = /^Array\((.*)\)$/.exec(type)?.[1];
    if (inner !== undefined) {
      const ends = this.column('UInt64', rows) as readonly number[];
      const items = this.column(inner, ends.at(-1) ?? 0);
      return ends.map((end, at) => items.slice(ends[at - 1] ?? 0, end));
    }
    return Array.from({ length: rows }, () => this.cell(type));
  }

  cell(type: string): unknown {
    if (type === 'String') return this.text();
    const [width, read] = scalars[type.replace(/^DateTime64.*/, 'Int64')] ?? [0, () => undefined];
    this.at += width;
    return read(this.bytes, this.at - width);
  }
}

const scalars: Readonly<Record<string, readonly [number, (bytes: Buffer, at: number) => unknown]>> = {
  Bool: [1, (bytes, at) => bytes.readUInt8(at) === 1],
  Int8: [1, (bytes, at) => bytes.readInt8(at)],
  Int16: [2, (bytes, at) => bytes.readInt16LE(at)],
  Int32: [4, (bytes, at) => bytes.readInt32LE(at)],
  Int64: [8, (bytes, at) => Number(bytes.readBigInt64LE(at))],
  UInt8: [1, (bytes, at) => bytes.readUInt8(at)],
  UInt16: [2, (bytes, at) => bytes.readUInt16LE(at)],
  UInt32: [4, (bytes, at) => bytes.readUInt32LE(at)],
  UInt64: [8, (bytes, at) => Number(bytes.readBigUInt64LE(at))],
  Float32: [4, (bytes, at) => bytes.readFloatLE(at)],
  Float64: [8, (bytes, at) => bytes.readDoubleLE(at)],
};

function read(bytes: Buffer | undefined): { readonly type: string; readonly cells: readonly unknown[] } {
  const reading = new BlockDecoder(bytes ?? Buffer.alloc(0));
  expect(reading.varint()).toBe(1);
  const rows = reading.varint();
  expect(reading.text()).toBe('c');
  const type = reading.text();
  const cells = reading.column(type, rows);
  expect(reading.at).toBe(reading.bytes.length);
  return { type, cells };
}

const bits = (type: string): number => Number(/\d+$/.exec(type)?.[0]);
const inRange = (type: string): fc.Arbitrary<number> => {
  if (bits(type) === 64) return type.startsWith('U') ? fc.maxSafeNat() : fc.maxSafeInteger();
  return type.startsWith('U')
    ? fc.integer({ min: 0, max: 2 ** bits(type) - 1 })
    : fc.integer({ min: -(2 ** (bits(type) - 1)), max: 2 ** (bits(type) - 1) - 1 });
};
const whole = ['Int8', 'Int16', 'Int32', 'Int64', 'UInt8', 'UInt16', 'UInt32', 'UInt64'];
const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.string({ unit: 'grapheme-ascii', maxLength: 60 }));
const types: Readonly<Record<string, fc.Arbitrary<Cell>>> = {
  String: text,
  Bool: fc.boolean(),
  Float32: fc.float(),
  Float64: fc.double(),
  "DateTime64(6, 'UTC')": fc.integer({ min: -2_208_988_800_000_000, max: Number.MAX_SAFE_INTEGER }),
  'Array(String)': fc.array(text, { maxLength: 4 }),
  'Array(Array(Int32))': fc.array(fc.array(fc.integer(), { maxLength: 3 }), { maxLength: 3 }),
  ...Object.fromEntries(whole.map((type) => [type, inRange(type)])),
};

describe('a block', () => {
  for (const [type, cell] of Object.entries(types)) {
    it(`carries ${type}`, () => {
      fc.assert(
        fc.property(fc.array(cell, { maxLength: 20 }), (cells) => {
          expect(read(bytesOf(type, cells))).toEqual({ type, cells });
        }),
      );
    });
  }

  it('leaves dictionaries to the server', () => {
    expect(read(bytesOf('Array(LowCardinality(String))', [['a'], []]))).toEqual({ type: 'Array(String)', cells: [['a'], []] });
  });

  it('carries the numbers that JSON cannot represent', () => {
    expect(read(bytesOf('Float64', ['NaN', 'Infinity', '-Infinity', 1.5])).cells).toEqual([NaN, Infinity, -Infinity, 1.5]);
  });

  it('is not made when a cell is not exactly what its column holds', () => {
    const odd: readonly (readonly [string, Cell])[] = [
      ...whole.map((type): [string, Cell] => [type, 1.5]),
      ...whole.filter((type) => bits(type) < 64).map((type): [string, Cell] => [type, 2 ** bits(type)]),
      ['UInt64', -1],
      ['Int64', Number.MAX_SAFE_INTEGER + 1],
      ['Int32', '1'],
      ['Int32', null],
      ['String', 1],
      ['String', null],
      ['Bool', 1],
      ['Float64', '1.5'],
      ['Float64', null],
      ["DateTime64(6, 'UTC')", '2026-01-01 00:00:00'],
      ["DateTime64(3, 'UTC')", 10_413_792_000_000],
      ['Array(Int32)', 1],
      ['Array(Int32)', [1, null]],
      ['Nullable(Int32)', 1],
      ['UUID', ''],
    ];
    for (const [type, cell] of odd) expect(bytesOf(type, [cell]), `${String(cell)} as ${type}`).toBeUndefined();
  });

  it('has the same bytes for ready columns as for cells', () => {
    const text = fc.string({ unit: 'binary', maxLength: 200 });
    const textsOf = (texts: readonly string[]): Column => {
      const sources = texts.map((one) => Buffer.from(`<${one}>`));
      return { kind: 'texts', sources, starts: texts.map(() => 1), ends: sources.map(({ length }) => length - 1) };
    };
    const listsOf = (lists: readonly (readonly Cell[])[], items: Column): Column => {
      let end = 0;
      return { kind: 'lists', ends: lists.map(({ length }) => (end += length)), items };
    };
    const bytes = (type: string, cells: Column, rows: number): Buffer =>
      Buffer.concat([...(nativeBlock([{ name: 'c', type, cells }], rows)?.parts ?? [])]);
    fc.assert(
      fc.property(fc.array(fc.array(text, { maxLength: 4 }), { maxLength: 700 }), (lists) => {
        const texts = lists.map((list) => list.join());
        expect(bytes('String', textsOf(texts), texts.length)).toEqual(bytesOf('String', texts));
        expect(bytes('Array(String)', listsOf(lists, textsOf(lists.flat())), lists.length)).toEqual(bytesOf('Array(String)', lists));
        const lengths = lists.map((list) => list.map(({ length }) => length - 3));
        expect(bytes('Array(Int32)', listsOf(lengths, lengths.flat()), lists.length)).toEqual(bytesOf('Array(Int32)', lengths));
        const numbers = texts.map(({ length }) => length / 3);
        expect(bytes('Float64', Float64Array.from(numbers), numbers.length)).toEqual(bytesOf('Float64', numbers));
      }),
      { numRuns: 30 },
    );
    expect(nativeBlock([{ name: 'c', type: 'Int32', cells: textsOf(['a']) }], 1)).toBeUndefined();
    expect(nativeBlock([{ name: 'c', type: 'String', cells: listsOf([[]], []) }], 1)).toBeUndefined();
    expect(nativeBlock([{ name: 'c', type: 'Array(Int32)', cells: textsOf(['a']) }], 1)).toBeUndefined();
    expect(nativeBlock([{ name: 'c', type: 'UInt8', cells: Float64Array.of(256) }], 1)).toBeUndefined();
  });

  it('has its columns one after the other, however many rows are written at once', () => {
    const columns = { String: text, 'Array(Int32)': fc.array(fc.integer(), { maxLength: 3 }), Bool: fc.boolean() };
    fc.assert(
      fc.property(fc.array(fc.record(columns), { maxLength: 700, size: 'max' }), (rows) => {
        const made = Object.keys(columns).map((type) => ({ name: 'c', type, cells: rows.map((row) => row[type as keyof typeof row]) }));
        const reading = new BlockDecoder(Buffer.concat([...(nativeBlock(made, rows.length)?.parts ?? [])]));
        expect([reading.varint(), reading.varint()]).toEqual([made.length, rows.length]);
        for (const { name, type, cells } of made) {
          expect([reading.text(), reading.text()]).toEqual([name, type]);
          expect(reading.column(type, rows.length)).toEqual(cells);
        }
        expect(reading.at).toBe(reading.bytes.length);
      }),
      { numRuns: 30 },
    );
  });

  it('reuses the pages of a released block', () => {
    const cells = Array.from({ length: 3_000 }, (_, at) => `${at} ${'x'.repeat(100)}`);
    const others = cells.map((cell) => cell.toUpperCase());
    const make = (of: readonly string[]) => nativeBlock([{ name: 'c', type: 'String', cells: of }], of.length);
    const expected = Buffer.concat([...(make(others)?.parts ?? [])]);
    const first = make(cells);
    const kept = [...(first?.parts ?? [])];
    first?.release();
    const second = [...(make(others)?.parts ?? [])];
    expect(Buffer.concat(second)).toEqual(expected);
    expect(second.some((page) => kept.some((old) => old.buffer === page.buffer && old.byteOffset === page.byteOffset))).toBe(true);
  });

  it('is produced in pieces, however long a text is', () => {
    const cells = Array.from({ length: 2_000 }, (_, at) => (at === 7 ? 'ä'.repeat(1_000_000) : 'x'.repeat(1_500)));
    const block = [...(nativeBlock([{ name: 'c', type: 'String', cells }], cells.length)?.parts ?? [])];
    expect(block.length).toBeGreaterThan(4);
    expect(read(Buffer.concat(block)).cells).toEqual(cells);
  });
});
