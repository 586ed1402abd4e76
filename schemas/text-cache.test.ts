import avro from 'avsc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundedTypes } from './bounded-types.ts';
import { TextCache } from './text-cache.ts';

/** Many texts, few places: the last eight bytes, which determine the place, are often the same. */
const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.tuple(fc.string({ maxLength: 45 }), fc.constantFrom('00000001', '00000002')).map((parts) => parts.join('')),
);

describe('a cache of texts', () => {
  it('gives the text of the bytes, whatever was read before', () => {
    const cache = new TextCache();
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 40 }), fc.nat({ max: 9 }), (texts, before) => {
        for (const text of texts) {
          const bytes = Buffer.concat([Buffer.alloc(before, 7), Buffer.from(text), Buffer.alloc(3, 8)]);
          expect(cache.read(bytes, before, bytes.length - 3)).toBe(text);
        }
      }),
    );
  });

  it('does not keep a view of the bytes', () => {
    const cache = new TextCache();
    const bytes = Buffer.from('run-1');
    expect(cache.read(bytes, 0, 5)).toBe('run-1');
    bytes.write('run-2');
    expect(cache.read(bytes, 0, 5)).toBe('run-2');
    expect(cache.read(Buffer.from('run-1'), 0, 5)).toBe('run-1');
  });

  it('reads bytes that are not UTF-8 as a Buffer does', () => {
    const cache = new TextCache();
    for (const bytes of [Buffer.from([0xff]), Buffer.from([0xc3]), Buffer.from([0xed, 0xa0, 0x80])])
      for (let time = 0; time < 2; time += 1) expect(cache.read(bytes, 0, bytes.length)).toBe(bytes.toString());
  });
});

describe('a type with cached strings', () => {
  const schema: avro.Schema = {
    type: 'record',
    name: 'Two',
    fields: [
      { name: 'first', type: 'string' },
      { name: 'rest', type: { type: 'array', items: 'string' } },
    ],
  };
  const plain = avro.Type.forSchema(schema);
  const cached = avro.Type.forSchema(schema, { typeHook: boundedTypes({ end: Infinity }, new TextCache()) });
  const resolver = cached.createResolver(plain);

  it('reads what was written, directly and through a resolver', () => {
    fc.assert(
      fc.property(fc.record({ first: anyText, rest: fc.array(anyText, { maxLength: 5 }) }), (value) => {
        const bytes = plain.toBuffer(value);
        expect(cached.fromBuffer(bytes)).toEqual(value);
        expect(cached.fromBuffer(bytes, resolver)).toEqual(value);
      }),
    );
  });

  it('refuses a text that continues after the value, or has a negative length', () => {
    const bound = { end: 0 };
    const text = avro.Type.forSchema('string', { typeHook: boundedTypes(bound, new TextCache()) });
    const read = (bytes: Buffer, end: number): unknown => {
      bound.end = end;
      return text.decode(bytes);
    };
    const bytes = Buffer.concat([text.toBuffer('abc'), Buffer.from('others')]);
    expect(read(bytes, 4)).toMatchObject({ value: 'abc', offset: 4 });
    expect(() => read(bytes, 3)).toThrow(RangeError);
    expect(() => read(Buffer.from([1, 97]), 2)).toThrow(RangeError);
  });
});
