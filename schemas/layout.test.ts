import avro from 'avsc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { publishedSchemas, type EventType } from './generated/events.ts';
import { Cursor } from './cursor.ts';
import { layoutBetween, layoutOf } from './layout.ts';
import { latestSchema } from './subjects.ts';

const types = [...new Set(publishedSchemas.map(({ name }) => name))];
const parse = (schema: unknown): avro.Type => avro.Type.forSchema(schema as avro.Schema);
const bytesOf = (schema: object, value: unknown): Buffer => parse(schema).toBuffer(value);
const record = (...fields: readonly unknown[]) => ({
  type: 'record',
  name: 'R',
  fields: fields.map((type, at) => ({ name: `f${at}`, type })),
});
const fits = (schema: object, bytes: Buffer): boolean => layoutOf(JSON.stringify(schema)).fits(bytes, 0);

function fieldsOf(schema: object): avro.types.RecordType['fields'] {
  const type = parse(schema);
  if (type instanceof avro.types.RecordType) return type.fields;
  throw new Error('no record');
}

/** Types whose nested records changed: their older versions have to be decoded. */
const otherInside: readonly EventType[] = ['RunStarted', 'StepCompleted'];

describe('a layout', () => {
  it.each(types)('finds every field of %s where avsc finds it', (type) => {
    const schema = JSON.parse(latestSchema(type).schema) as object;
    const layout = layoutOf(latestSchema(type).schema);
    expect(layout.fields).toEqual(fieldsOf(schema).map(({ name }) => name));
    for (let time = 0; time < 20; time += 1) {
      const bytes = Buffer.concat([Buffer.alloc(3), bytesOf(schema, parse(schema).random())]);
      expect(layout.fits(bytes, 3)).toBe(true);
      const starts = new Int32Array(layout.fields.length);
      layout.locate(bytes, 3, starts);
      let end = 3;
      fieldsOf(schema).forEach((field, at) => {
        expect(starts[at], field.name).toBe(end);
        end = (field.type.decode(bytes, end) as { readonly offset: number }).offset;
      });
      expect(end).toBe(bytes.length);
    }
  });

  it.each(publishedSchemas.map((entry) => ({ ...entry, title: `${entry.name} v${entry.version}` })))(
    'finds the fields of the newest version in $title, or their defaults',
    ({ name, schema }) => {
      const [writer, reader] = [parse(JSON.parse(schema)), parse(JSON.parse(latestSchema(name).schema))];
      const layout = layoutBetween(schema, latestSchema(name).schema);
      expect(layout !== undefined || otherInside.includes(name), 'a version without a layout').toBe(true);
      if (layout === undefined) return;
      const starts = new Int32Array(layout.fields.length);
      for (let time = 0; time < 20; time += 1) {
        const bytes = writer.toBuffer(writer.random());
        expect(layout.fits(bytes, 0)).toBe(true);
        layout.locate(bytes, 0, starts);
        const event = reader.fromBuffer(bytes, reader.createResolver(writer)) as Readonly<Record<string, unknown>>;
        fieldsOf(JSON.parse(latestSchema(name).schema) as object).forEach((field, at) => {
          const start = starts[at] as number;
          const found = start < 0 ? field.type.decode(layout.defaults, ~start) : field.type.decode(bytes, start);
          expect((found as { readonly value: unknown }).value, field.name).toEqual(event[field.name]);
        });
      }
    },
  );

  it('skips fields that the reader does not have, in any order, and does not exist for a changed type or a missing default', () => {
    const field = (name: string, type: string, more: object = {}) => ({ name, type, ...more });
    const schemaOf = (...fields: readonly object[]): string => JSON.stringify({ type: 'record', name: 'R', fields });
    const [a, b] = [field('a', 'string'), field('b', 'int', { default: 7 })];
    const writer = schemaOf(field('new', 'string'), b, a);
    const layout = layoutBetween(writer, schemaOf(a, field('c', 'long', { default: 9 }), b));
    const bytes = bytesOf(JSON.parse(writer) as object, { new: 'x', a: 'text', b: 3 });
    const starts = new Int32Array(3);
    layout?.locate(bytes, 0, starts);
    expect([...starts]).toEqual([3, ~0, 2]);
    expect(layout?.defaults).toEqual(Buffer.from([18]));
    const taken: unknown[] = [];
    const pass = layout?.passOf([
      undefined,
      (cursor, row) => taken.push(['c', row, cursor.number()]),
      (cursor, row) => taken.push(['b', row, cursor.number()]),
    ]);
    const cursor = new Cursor(bytes);
    pass?.(cursor, 4);
    expect(taken).toEqual([['b', 4, 3]]);
    expect(cursor.at, 'what follows is left').toBe(3);
    expect(layoutBetween(schemaOf(a), schemaOf(field('a', 'bytes')))).toBeUndefined();
    expect(layoutBetween(schemaOf(a), schemaOf(a, field('b', 'int')))).toBeUndefined();
    expect(layoutBetween(schemaOf(field('a', 'int')), schemaOf(field('a', 'long')))).toBeUndefined();
  });

  it('gives each function its value, except that an `unset` value may be skipped', () => {
    const schema = record(...Array.from({ length: 6 }, () => 'string'));
    const layout = layoutOf(JSON.stringify(schema));
    const texts = fc.array(fc.constantFrom('', '', 'no', 'text'), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(texts, fc.array(fc.constantFrom(undefined, '', 'no'), { minLength: 6, maxLength: 6 }), (values, unread) => {
        const taken: string[] = [];
        const takes = unread.map((text, field) => {
          const take = (cursor: Cursor): void => {
            const value = cursor.block()?.toString() ?? '';
            if (value !== text) taken.push(`${field} ${value}`);
          };
          return Object.assign(take, text === undefined ? {} : { unset: bytesOf({ type: 'string' }, text) });
        });
        const cursor = new Cursor(bytesOf(schema, Object.fromEntries(values.map((value, field) => [`f${field}`, value]))));
        layout.passOf(takes)(cursor, 0);
        expect(taken).toEqual(values.flatMap((value, field) => (value === unread[field] ? [] : [`${field} ${value}`])));
        expect(cursor.at).toBe(cursor.bytes.length);
      }),
      { numRuns: 300 },
    );
  });

  it('fits no bytes that avsc would not read, or would read as something else', () => {
    const schema = JSON.parse(latestSchema('TurnRecorded').schema) as object;
    const type = parse(schema);
    const layout = layoutOf(JSON.stringify(schema));
    let fitting = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }), fc.nat(3), (changes, cut) => {
        const bytes = type.toBuffer(type.random());
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        const damaged = bytes.subarray(0, bytes.length - (cut > 1 ? 0 : cut));
        if (!layout.fits(damaged, 0)) return;
        fitting += 1;
        // Numbers may be encoded in more bytes than needed; their values are the same.
        expect(type.fromBuffer(type.toBuffer(type.fromBuffer(damaged)))).toEqual(type.fromBuffer(damaged));
      }),
      { numRuns: 2_000 },
    );
    expect(fitting).toBeGreaterThan(100);
  });

  it('does not fit bytes that are not in plain form', () => {
    const number = (bytes: readonly number[]): Buffer => Buffer.from(bytes);
    expect(fits(record('int'), number([0xff, 0xff, 0xff, 0xff, 0x0f]))).toBe(true);
    expect(fits(record('int'), number([0xff, 0xff, 0xff, 0xff, 0x1f]))).toBe(false);
    expect(fits(record('int'), number([0x80, 0x80, 0x80, 0x80, 0x80, 0]))).toBe(false);
    expect(fits(record('long'), bytesOf(record('long'), { f0: 2 ** 52 - 1 }))).toBe(true);
    expect(fits(record('long'), number([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f]))).toBe(false);
    expect(fits(record('boolean'), number([1]))).toBe(true);
    expect(fits(record('boolean'), number([2]))).toBe(false);
    for (const text of ['ä'.repeat(10), 'ä'.repeat(500)]) {
      const bytes = bytesOf(record('string'), { f0: text });
      expect(fits(record('string'), bytes)).toBe(true);
      expect(fits(record('string'), Buffer.from(bytes).fill(0xff, bytes.length - 1))).toBe(false);
      expect(fits(record('bytes'), Buffer.from(bytes).fill(0xff, bytes.length - 1))).toBe(true);
    }
    const ints = record({ type: 'array', items: 'int' });
    expect(fits(ints, number([4, 2, 4, 0]))).toBe(true);
    expect(fits(ints, number([0]))).toBe(true);
    // In two blocks.
    expect(fits(ints, number([4, 2, 4, 2, 6, 0]))).toBe(false);
    expect(fits(ints, number([4, 2, 4]))).toBe(false);
    expect(fits(ints, number([8, 2, 4, 0]))).toBe(false);
    expect(fits(ints, number([4, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]))).toBe(true);
    expect(fits(ints, number([4, 2, 0xff, 0xff, 0xff, 0xff, 0x1f, 0]))).toBe(false);
    // The same list, in a block with a negative count, which is followed by the size of the block in bytes.
    expect(fits(ints, number([3, 4, 2, 4, 0]))).toBe(false);
    expect(fits(ints, number([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 2]))).toBe(false);
    const floats = record({ type: 'array', items: 'float' });
    expect(fits(floats, number([2, 1, 2, 3, 4, 0]))).toBe(true);
    expect(fits(floats, number([2, 1, 2, 3, 4, 2, 5, 6, 7, 8, 0]))).toBe(false);
    expect(fits(floats, number([4, 1, 2, 3, 4, 0, 0, 0]))).toBe(false);
    expect(fits(floats, number([3, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0]))).toBe(false);
    const maybe = record(['null', 'int']);
    expect(fits(maybe, number([0]))).toBe(true);
    expect(fits(maybe, number([2, 8]))).toBe(true);
    expect(fits(maybe, number([4, 8]))).toBe(false);
    expect(fits(maybe, number([1]))).toBe(false);
    expect(fits(record('string'), number([9]))).toBe(false);
  });

  it('throws for types that no published schema uses', () => {
    expect(() => layoutOf(JSON.stringify(record({ type: 'map', values: 'int' })))).toThrow(RangeError);
    expect(() => layoutOf(JSON.stringify(record({ type: 'array', items: 'null' })))).toThrow(RangeError);
  });
});
