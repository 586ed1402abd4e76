import avro from 'avsc';
import { describe, expect, it } from 'vitest';
import { boundedTypes } from './bounded-types.ts';
import { createCodec } from './codec.ts';
import { frame } from './framing.ts';
import { publishedSchemas, type EventType } from './generated/events.ts';
import { contentId } from './subjects.ts';

const longs = avro.Type.forSchema('long');
/** Counts that avsc would loop for: of the next block of an array or map, positive, and negative with a size. */
const counts = [2 ** 31 - 1, 2 ** 52].flatMap((count) => [
  longs.toBuffer(count),
  Buffer.concat([longs.toBuffer(-count), longs.toBuffer(1)]),
  Buffer.concat([longs.toBuffer(-1), longs.toBuffer(-count)]),
]);

const codecs = [
  createCodec(),
  createCodec({ late: ['TurnRecorded'] }),
  createCodec({ view: { TurnRecorded: ['run_id', 'policy_spans'], StepCompleted: ['run_id'] } }),
];

describe('counts in the bytes of a value', () => {
  it('do not reach into the bytes after it', () => {
    const tail = Buffer.alloc(1_000);
    for (const type of [{ type: 'array', items: 'string' }, 'string', 'bytes'] satisfies avro.Schema[]) {
      const bound = { end: 0 };
      const bounded = avro.Type.forSchema(type, { typeHook: boundedTypes(bound) });
      const bytes = Buffer.concat([longs.toBuffer(500), tail]);
      bound.end = 400;
      expect(() => bounded.decode(bytes)).toThrow(RangeError);
    }
  });

  it.each(publishedSchemas.map((entry) => [`${entry.name} v${entry.version}`, entry] as const))(
    'do not keep the reader of %s busy, wherever they are',
    (_, { name, schema }) => {
      const body = avro.Type.forSchema(JSON.parse(schema) as avro.Schema).toBuffer(emptyEvent(schema));
      for (let at = 0; at <= body.length; at += 1) {
        for (const count of counts) {
          const value = frame(contentId(schema), Buffer.concat([body.subarray(0, at), count, body.subarray(at)]));
          for (const codec of codecs) {
            const decoded = codec.decode(value);
            // read in full, so that an event that is decoded late is decoded
            expect(decoded.ok ? typeof decoded.value.event : decoded.reason).toMatch(/object|undecodable/);
          }
        }
      }
      expect(codecs[0]?.typeOfId(contentId(schema))).toBe(name satisfies EventType);
    },
  );
});

/** Texts are empty, numbers 0, arrays have one item: almost every byte is a count or a length. */
function emptyEvent(schema: string): unknown {
  return emptyValue(avro.Type.forSchema(JSON.parse(schema) as avro.Schema));
}

function emptyValue(type: avro.Type): unknown {
  if (type instanceof avro.types.RecordType) return Object.fromEntries(type.fields.map((field) => [field.name, emptyValue(field.type)]));
  if (type instanceof avro.types.ArrayType) return [emptyValue(type.itemsType)];
  if (type instanceof avro.types.LogicalType) return 0;
  if (type.typeName.startsWith('union:')) return null;
  if (type.typeName === 'string') return '';
  if (type.typeName === 'bytes') return Buffer.alloc(0);
  return type.typeName === 'boolean' ? false : 0;
}

const typeHook = boundedTypes({ end: Infinity });

describe('a bounded type', () => {
  const schema: avro.Schema = {
    type: 'record',
    name: 'All',
    fields: [
      { name: 'names', type: { type: 'array', items: 'string' } },
      { name: 'more', type: { type: 'map', values: { type: 'array', items: 'int' } } },
      { name: 'last', type: 'int' },
    ],
  };
  const plain = avro.Type.forSchema(schema);
  const bounded = avro.Type.forSchema(schema, { typeHook });
  const part = avro.Type.forSchema({ type: 'record', name: 'All', fields: [{ name: 'last', type: 'int' }] }, { typeHook });

  it('reads and skips what the plain type wrote', () => {
    for (let time = 0; time < 50; time += 1) {
      const value = plain.random();
      const bytes = plain.toBuffer(value);
      expect(bounded.fromBuffer(bytes)).toEqual(plain.fromBuffer(bytes));
      expect(part.fromBuffer(bytes, part.createResolver(bounded))).toEqual({ last: (value as unknown as { readonly last: number }).last });
    }
  });

  it('reads and skips blocks with their sizes', () => {
    // two blocks: -2 items in 4 bytes, then 1 item; an empty map; 7
    const bytes = Buffer.concat([
      ...[longs.toBuffer(-2), longs.toBuffer(4), Buffer.from([2, 97, 2, 98]), longs.toBuffer(1), Buffer.from([2, 99]), longs.toBuffer(0)],
      ...[longs.toBuffer(0), longs.toBuffer(7)],
    ]);
    expect(bounded.fromBuffer(bytes)).toEqual({ names: ['a', 'b', 'c'], more: {}, last: 7 });
    expect(part.fromBuffer(bytes, part.createResolver(bounded))).toEqual({ last: 7 });
  });
});
