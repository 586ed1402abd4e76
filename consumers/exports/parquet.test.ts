import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createParquetJoin } from './parquet.ts';
import { decodeStruct, encodeStruct, type ThriftStruct, type ThriftValue } from './thrift.ts';

const whole = (value: number): ThriftValue => ({ kind: 'i64', value: BigInt(value) });
const struct = (fields: Readonly<Record<number, ThriftValue>>): ThriftStruct => ({
  kind: 'struct',
  fields: new Map(Object.entries(fields).map(([id, value]) => [Number(id), value])),
});
const listOf = (items: readonly ThriftStruct[]): ThriftValue => ({ kind: 'list', element: 12, items });

/** A file with one column, a page of these bytes, and an index that a joined file cannot have. */
function fileOf(page: Buffer, rows: number): Buffer {
  const meta = struct({ 1: whole(1), 9: whole(4), 11: whole(0), 14: whole(4 + page.length - 1) });
  const column = struct({ 2: whole(4), 3: meta, 4: whole(5), 5: { kind: 'i32', value: 6n } });
  const group = struct({ 1: listOf([column]), 3: whole(rows), 5: whole(4), 7: { kind: 'i16', value: 0n } });
  const name: ThriftValue = { kind: 'binary', value: Buffer.from('made by a test') };
  const footer = encodeStruct(struct({ 1: { kind: 'i32', value: 2n }, 3: whole(rows), 4: listOf([group]), 6: name, 20: name }));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(footer.length);
  return Buffer.concat([Buffer.from('PAR1'), page, footer, size, Buffer.from('PAR1')]);
}

const footerOf = (file: Buffer): ThriftStruct => decodeStruct(file.subarray(file.length - 8 - file.readUInt32LE(file.length - 8), -8));
const numberAt = (value: ThriftValue | undefined): number => (value?.kind === 'i64' ? Number(value.value) : NaN);

/** Checks that the group points to this page in the file. */
function expectPage(file: Buffer, group: ThriftValue, page: Buffer): void {
  if (group.kind !== 'struct') throw new Error('no group');
  expect(group.fields.has(7)).toBe(false);
  const columns = group.fields.get(1);
  const column = columns?.kind === 'list' ? columns.items[0] : undefined;
  if (column?.kind !== 'struct') throw new Error('no column');
  expect([column.fields.has(4), column.fields.has(5)]).toEqual([false, false]);
  const meta = column.fields.get(3);
  if (meta?.kind !== 'struct') throw new Error('no pages');
  const place = numberAt(meta.fields.get(9));
  expect(file.subarray(place, place + page.length)).toEqual(page);
  expect(numberAt(meta.fields.get(14))).toBe(place + page.length - 1);
  expect(numberAt(meta.fields.get(11))).toBe(0);
  expect(numberAt(group.fields.get(5))).toBe(place);
}

describe('joined Parquet files', () => {
  it('contain every page, with its new offsets', () => {
    const anyPages = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(anyPages, (pages) => {
        const join = createParquetJoin();
        const parts = pages.map((page, at) => join.add(fileOf(Buffer.from(page), at)));
        const file = Buffer.concat([...parts, join.end()]);
        const footer = footerOf(file);
        const rows = pages.reduce((sum, _page, at) => sum + at, 0);
        expect(join.rows).toBe(rows);
        expect(numberAt(footer.fields.get(3))).toBe(rows);
        expect(footer.fields.get(6)).toEqual(footer.fields.get(20));
        const groups = footer.fields.get(4);
        if (groups?.kind !== 'list') throw new Error('no groups');
        expect(groups.items).toHaveLength(pages.length);
        for (const [at, group] of groups.items.entries()) expectPage(file, group, Buffer.from(pages[at]!));
      }),
    );
  });

  it('need at least one file, and reject bytes that are not a Parquet file', () => {
    const join = createParquetJoin();
    expect(() => join.end()).toThrow('none was added');
    for (const bytes of ['', 'PAR1', 'PAR1____PAR1____PAR1', 'nothing of the kind']) {
      expect(() => join.add(Buffer.from(bytes))).toThrow('not a Parquet file');
    }
  });
});

describe('Thrift structs', () => {
  const scalar = fc.oneof(
    fc.boolean().map((value): ThriftValue => ({ kind: 'bool', value })),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value): ThriftValue => ({ kind: 'i64', value })),
    fc.integer({ min: -32_768, max: 32_767 }).map((value): ThriftValue => ({ kind: 'i16', value: BigInt(value) })),
    fc.nat(255).map((value): ThriftValue => ({ kind: 'byte', value: BigInt(value) })),
    fc.uint8Array({ maxLength: 20 }).map((value): ThriftValue => ({ kind: 'binary', value: Buffer.from(value) })),
    fc.uint8Array({ minLength: 8, maxLength: 8 }).map((value): ThriftValue => ({ kind: 'double', value: Buffer.from(value) })),
  );
  const structs = (value: fc.Arbitrary<ThriftValue>): fc.Arbitrary<ThriftStruct> =>
    fc.array(fc.tuple(fc.integer({ min: 1, max: 400 }), value), { maxLength: 8 }).map((fields) => ({
      kind: 'struct',
      fields: new Map([...new Map(fields)].sort(([a], [b]) => a - b)),
    }));
  const inner = structs(scalar);
  const lists = fc.array(inner, { maxLength: 20 }).map((items): ThriftValue => ({ kind: 'list', element: 12, items }));
  const bools = fc
    .array(fc.boolean(), { maxLength: 20 })
    .map((all): ThriftValue => ({ kind: 'set', element: 1, items: all.map((value) => ({ kind: 'bool', value })) }));

  it('are read as they were written', () => {
    fc.assert(
      fc.property(structs(fc.oneof(scalar, inner, lists, bools)), (value) => {
        expect(decodeStruct(encodeStruct(value))).toEqual(value);
      }),
    );
  });

  it('are rejected when they are truncated, invalid, or followed by other bytes', () => {
    const bytes = encodeStruct(struct({ 1: whole(70_000), 2: { kind: 'binary', value: Buffer.from('text') } }));
    for (let size = 0; size < bytes.length; size += 1) expect(() => decodeStruct(bytes.subarray(0, size))).toThrow();
    expect(() => decodeStruct(Buffer.concat([bytes, bytes]))).toThrow('bytes follow');
    expect(() => decodeStruct(Buffer.from([0x1b, 0]))).toThrow('no type');
    expect(() => decodeStruct(Buffer.alloc(200, 0x1c))).toThrow('too deeply');
    expect(() => decodeStruct(Buffer.alloc(20, 0xff))).toThrow();
  });
});
