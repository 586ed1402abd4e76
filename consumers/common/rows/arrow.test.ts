import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyRow } from '../../../infra/testing/recorded-calls.ts';
import type { TokenRow } from '../../../streams/rows/row.ts';
import { ArrowRows } from './arrow.ts';

const streamOf = (rows: readonly TokenRow[]): Buffer => {
  const stream = new ArrowRows();
  return Buffer.concat([...rows.flatMap((row) => stream.add(row)), ...stream.end()]);
};

/** Reads a table of a FlatBuffer: its fields by id. */
class FlatTable {
  readonly bytes: Buffer;
  readonly at: number;

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  static rootOf(bytes: Buffer): FlatTable {
    return new FlatTable(bytes, bytes.readUInt32LE(0));
  }

  /** Position of a field; 0 if it is absent. */
  place(id: number): number {
    const vtable = this.at - this.bytes.readInt32LE(this.at);
    const offset = 4 + 2 * id < this.bytes.readUInt16LE(vtable) ? this.bytes.readUInt16LE(vtable + 4 + 2 * id) : 0;
    return offset === 0 ? 0 : this.at + offset;
  }

  to(id: number): number {
    const place = this.place(id);
    return place + this.bytes.readUInt32LE(place);
  }

  table(id: number): FlatTable {
    return new FlatTable(this.bytes, this.to(id));
  }

  text(id: number): string {
    const at = this.to(id);
    return this.bytes.toString('utf8', at + 4, at + 4 + this.bytes.readUInt32LE(at));
  }

  tables(id: number): readonly FlatTable[] {
    const at = this.to(id);
    return Array.from({ length: this.bytes.readUInt32LE(at) }, (_, index) => {
      const slot = at + 4 + 4 * index;
      return new FlatTable(this.bytes, slot + this.bytes.readUInt32LE(slot));
    });
  }

  longs(id: number, width: number): readonly number[] {
    const at = this.to(id);
    expect((at + 4) % 8, 'structs of 64 bits are aligned').toBe(0);
    return Array.from({ length: width * this.bytes.readUInt32LE(at) }, (_, index) => Number(this.bytes.readBigInt64LE(at + 4 + 8 * index)));
  }
}

interface IpcMessage {
  readonly kind: number;
  readonly header: FlatTable;
  readonly body: Buffer;
}

function messagesOf(stream: Buffer): readonly IpcMessage[] {
  const messages: IpcMessage[] = [];
  let at = 0;
  for (; stream.readInt32LE(at + 4) !== 0;) {
    expect(stream.readInt32LE(at)).toBe(-1);
    expect(at % 8).toBe(0);
    const start = at + 8 + stream.readInt32LE(at + 4);
    // copied, because alignment counts from the start of the metadata
    const message = FlatTable.rootOf(Buffer.from(stream.subarray(at + 8, start)));
    expect(message.bytes.readInt16LE(message.place(0)), 'version 5').toBe(4);
    const length = Number(message.bytes.readBigInt64LE(message.place(3)));
    messages.push({
      kind: message.bytes[message.place(1)] ?? 0,
      header: message.table(2),
      body: Buffer.from(stream.subarray(start, start + length)),
    });
    at = start + length;
  }
  expect(stream.length).toBe(at + 8);
  return messages;
}

interface FieldRead {
  readonly name: string;
  readonly values: readonly unknown[];
}

/** Reads the columns of a record batch as the schema describes them. */
function readBatch(schema: FlatTable, { header, body }: IpcMessage): readonly FieldRead[] {
  const [nodes, places] = [[...header.longs(1, 2)], [...header.longs(2, 2)]];
  const buffer = (): Buffer => {
    const [at = 0, length = 0] = places.splice(0, 2);
    expect(at % 8).toBe(0);
    return body.subarray(at, at + length);
  };
  const read = (field: FlatTable): FieldRead => {
    const [length = 0, nulls = 0] = nodes.splice(0, 2);
    const valid = buffer();
    const isValid = (at: number): boolean => valid.length === 0 || ((valid[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
    const all = valuesOf(field, length).map((value, at) => (isValid(at) ? value : null));
    expect(all.filter((value) => value === null).length).toBe(nulls);
    return { name: field.text(0), values: all };
  };
  const ends = (length: number): readonly number[] => {
    const bytes = buffer();
    return Array.from({ length: length + 1 }, (_, at) => bytes.readInt32LE(4 * at));
  };
  const numbers = (length: number, width: number, get: (bytes: Buffer, at: number) => number): readonly number[] => {
    const bytes = buffer();
    expect(bytes.length).toBe(length * width);
    return Array.from({ length }, (_, at) => get(bytes, at * width));
  };
  const detailed: Readonly<Record<number, (field: FlatTable, length: number) => readonly unknown[]>> = {
    2: (field, length) => {
      const bits = field.table(3).bytes.readInt32LE(field.table(3).place(0));
      return bits === 8 ? numbers(length, 1, (bytes, at) => bytes[at] ?? 0) : numbers(length, 4, (bytes, at) => bytes.readInt32LE(at));
    },
    3: (field, length) => {
      const isSingle = field.table(3).bytes.readInt16LE(field.table(3).place(0)) === 1;
      return isSingle
        ? numbers(length, 4, (bytes, at) => bytes.readFloatLE(at))
        : numbers(length, 8, (bytes, at) => bytes.readDoubleLE(at));
    },
    5: (_, length) => {
      const [bounds, bytes] = [ends(length), buffer()];
      return Array.from({ length }, (_none, at) => bytes.toString('utf8', bounds[at], bounds[at + 1]));
    },
    6: (_, length) => {
      const bits = buffer();
      return Array.from({ length }, (_none, at) => ((bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0);
    },
    12: (field, length) => {
      const bounds = ends(length);
      const { values } = read(field.tables(5)[0]!);
      return Array.from({ length }, (_, at) => values.slice(bounds[at], bounds[at + 1]));
    },
    13: (field, length) => {
      const members = field.tables(5).map(read);
      return Array.from({ length }, (_, at) => Object.fromEntries(members.map(({ name, values }) => [name, values[at]])));
    },
  };
  const valuesOf = (field: FlatTable, length: number): readonly unknown[] => detailed[field.bytes[field.place(2)] ?? 0]!(field, length);
  return schema.tables(1).map(read);
}

const told = (row: TokenRow): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      ArrayBuffer.isView(value) ? [...(value as Int32Array)] : Number.isNaN(value) ? null : value,
    ]),
  );

describe('rows in Arrow', () => {
  it('contain every value of every row', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 8 }), (rows) => {
        const [schema, ...batches] = messagesOf(streamOf(rows));
        expect([schema?.kind, ...batches.map(({ kind }) => kind)]).toEqual([1, ...batches.map(() => 3)]);
        const read = batches.flatMap((batch) => {
          const fields = readBatch(schema!.header, batch);
          const length = fields[0]?.values.length ?? 0;
          return Array.from({ length }, (_, at) => Object.fromEntries(fields.map(({ name, values }) => [name, values[at]])));
        });
        expect(read).toEqual(rows.map((row) => ({ ...told(row), temperature: Number.isNaN(row.temperature) ? null : row.temperature })));
      }),
      { numRuns: 40 },
    );
  });

  it('are split into record batches at the token limit and at the row limit', () => {
    const [row] = fc.sample(anyRow, { numRuns: 1, seed: 3 });
    const long = { ...row!, token_ids: new Int32Array(40_000), mask: new Uint8Array(40_000), logprobs: new Float32Array(40_000) };
    expect(messagesOf(streamOf([long, long, long])).length).toBe(3);
    expect(messagesOf(streamOf(new Array<TokenRow>(1_025).fill(row!))).length).toBe(3);
    expect(messagesOf(streamOf([])).map(({ kind }) => kind)).toEqual([1]);
  });

  // pyarrow 22 and apache-arrow 21 have read these bytes with full validation. Check new bytes with both before changing the hash.
  it('are the bytes that other Arrow readers have been checked with', () => {
    const rows = fc.sample(anyRow, { numRuns: 40, seed: 11 });
    expect(createHash('sha256').update(streamOf(rows)).digest('hex')).toMatchInlineSnapshot(
      `"97d09c2203fa0edadc431f59e17f490aebcac9efe925416cad325d56f26a8de5"`,
    );
  });
});
