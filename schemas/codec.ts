// Encodes events with the newest schema of their type, and reads every version ever published, and later ones that a registry knows.
// Resolvers are made once per (writer id, reader), never per message.
import avro from 'avsc';
import { publishedSchemas, type EventByType, type EventType } from './generated/events.ts';
import { boundedTypes, type ValueBound } from './bounded-types.ts';
import { countCheckOf } from './counts.ts';
import { frame, FRAME_BYTES, schemaIdOf } from './framing.ts';
import { layoutBetween, layoutOf, type RecordLayout } from './layout.ts';
import { contentId, fullNameOf, latestSchema } from './subjects.ts';
import { TextCache } from './text-cache.ts';

/** An event of one of the types `T`, with that type, as read from the log. */
export type DecodedOf<T extends EventType> = {
  readonly [K in T]: { readonly type: K; readonly event: EventByType[K]; readonly plain?: PlainBytes };
}[T];

/** Any event with its type. */
export type DecodedEvent = DecodedOf<EventType>;

/** A value in plain form (RecordLayout.fits): the fields of the newest schema of its type can be read directly from the bytes. */
export interface PlainBytes {
  /** The framed value: the record begins at `FRAME_BYTES`. */
  readonly value: Buffer;
  readonly layout: RecordLayout;
}

/** Bytes that contain a value, from `start` to `end`. */
export interface ValuePlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

export type DecodeFailure = 'not_framed' | 'unknown_schema' | 'incompatible_schema' | 'undecodable';

export type DecodeResult =
  | { readonly ok: true; readonly value: DecodedEvent }
  | { readonly ok: false; readonly reason: DecodeFailure; readonly schemaId: number | undefined; readonly cause: unknown };

export interface Codec {
  /** Framed bytes of one event. Throws when the event does not fit its schema: a bug in the caller. */
  encode<T extends EventType>(type: T, event: EventByType[T]): Buffer;
  /** Decodes the value from `start` to `end` of `bytes`. Never throws: a value that cannot be read is a result with a reason. */
  decode(bytes: Buffer, start?: number, end?: number): DecodeResult;
  /** Adds a writer schema from a registry. Returns false when it is of no event type of turnstream, or incompatible with it. */
  learn(schemaId: number, schema: string): boolean;
  /** Whether the writer schema with this id is known. */
  knows(schemaId: number): boolean;
  /** Type of the event behind a schema id, without decoding. */
  typeOfId(schemaId: number): EventType | undefined;
}

interface SchemaWriter {
  readonly type: EventType;
  readonly reader: SchemaReader;
  /** Decodes the body after the frame of the value from `start` to `end`. */
  readonly read: (bytes: Buffer, start: number, end: number) => unknown;
  /** Set for a type in `late`, unless the writer's schema is too different from the newest one. */
  readonly layout?: RecordLayout;
}

interface SchemaReader {
  readonly avroType: avro.Type;
  /** The type that decode returns: `avroType`, or a view of it. */
  readonly decoded: avro.Type;
  readonly id: number;
  readonly schema: string;
  /** The layout of the newest schema; set for a type in `late`. */
  readonly layout: RecordLayout | undefined;
}

/**
 * The fields that decode reads, for some types. It skips the other fields without creating values, which is three times as fast for a turn
 * of 2 kB. Encoding always takes complete events.
 */
type EventView = { readonly [T in EventType]?: readonly (keyof EventByType[T] & string)[] };

export interface CodecOptions {
  /** The id that a registry assigned to a schema text; derived from the content by default. */
  readonly idOf?: (schema: string) => number;
  /** Decoded events of these types have only the fields of the view. */
  readonly view?: EventView;
  /**
   * Types whose decoded events have plain bytes. decode only checks a value in plain form, which is then decoded at each access to `event`;
   * any other value is decoded, and encoded again in plain form. For readers that mostly use the bytes, or keep them for long.
   */
  readonly late?: readonly EventType[];
}

export function createCodec(options: CodecOptions = {}): Codec {
  const { readerOf, writerOf, knows, learn } = createSchemas(options);
  return {
    encode(type, event) {
      const reader = readerOf(type);
      return frame(reader.id, reader.avroType.toBuffer(event));
    },
    decode(bytes, start = 0, end = bytes.length) {
      const schemaId = schemaIdOf(bytes, start, end);
      if (schemaId === undefined) return failure('not_framed', undefined, `first byte is not 0 or fewer than ${FRAME_BYTES} bytes`);
      const writer = writerOf(schemaId);
      if (writer === undefined) return failure('unknown_schema', schemaId, `schema id ${schemaId} is not known`);
      if (writer === 'incompatible') return failure('incompatible_schema', schemaId, `schema id ${schemaId} cannot be read as our type`);
      try {
        const { type, reader, read } = writer;
        const event =
          reader.layout === undefined ? { type, event: read(bytes, start, end) } : lateIn({ bytes, start, end }, writer, writerOf);
        return { ok: true, value: event as DecodedEvent };
      } catch (cause) {
        return failure('undecodable', schemaId, cause);
      }
    },
    learn,
    knows,
    typeOfId(schemaId) {
      const writer = writerOf(schemaId);
      return writer === undefined || writer === 'incompatible' ? undefined : writer.type;
    },
  };
}

type WriterOf = (schemaId: number) => SchemaWriter | 'incompatible' | undefined;

interface CodecSchemas {
  readonly readerOf: (type: EventType) => SchemaReader;
  readonly writerOf: WriterOf;
  readonly knows: Codec['knows'];
  readonly learn: Codec['learn'];
}

/** Schemas are parsed when they are first used: parsing all of them is a large part of the start of a command. */
function createSchemas(options: CodecOptions): CodecSchemas {
  const idOf = options.idOf ?? contentId;
  const bound: ValueBound = { end: 0 };
  const typeHook = boundedTypes(bound);
  const published = new Map(publishedSchemas.map((entry) => [idOf(entry.schema), entry]));
  const readers = new Map<EventType, SchemaReader>();
  const writers = new Map<number, SchemaWriter | 'incompatible'>();

  function readerOf(type: EventType): SchemaReader {
    const known = readers.get(type);
    if (known !== undefined) return known;
    const { schema } = latestSchema(type);
    const avroType = parse(schema, typeHook);
    const view = options.view?.[type];
    const decoded = view === undefined ? avroType : viewOf(schema, view, bound);
    const layout = options.late?.includes(type) === true ? layoutOf(schema) : undefined;
    const reader: SchemaReader = { avroType, decoded, id: idOf(schema), schema, layout };
    readers.set(type, reader);
    return reader;
  }

  function add(schemaId: number, { type, writerType, schema }: OwnSchema): SchemaWriter | 'incompatible' {
    const writer = makeWriter({ type, writerType, reader: readerOf(type), schema, bound });
    writers.set(schemaId, writer);
    return writer;
  }

  const writerOf: WriterOf = (schemaId) => {
    const known = writers.get(schemaId);
    if (known !== undefined) return known;
    const entry = published.get(schemaId);
    return entry === undefined
      ? undefined
      : add(schemaId, { type: entry.name, writerType: parse(entry.schema, typeHook), schema: entry.schema });
  };

  return {
    readerOf,
    writerOf,
    knows: (schemaId) => writers.has(schemaId) || published.has(schemaId),
    learn(schemaId, schema) {
      const known = writerOf(schemaId);
      if (known !== undefined) return known !== 'incompatible';
      const writerType = parse(schema, typeHook);
      const type = publishedSchemas.find((entry) => fullNameOf(entry) === writerType.name)?.name;
      return type !== undefined && add(schemaId, { type, writerType, schema }) !== 'incompatible';
    },
  };
}

/** The event of a type in `late`. */
function lateIn({ bytes, start, end }: ValuePlace, writer: SchemaWriter, writerOf: WriterOf): DecodedEvent {
  if (writer.layout !== undefined) {
    const value = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
    if (writer.layout.fits(value, FRAME_BYTES)) return lateEvent(writer, value, writer.layout);
  }
  return inPlainForm(writer, writer.read(bytes, start, end), writerOf);
}

/** An event whose value is not in plain form, encoded again in plain form. */
function inPlainForm({ type, reader }: SchemaWriter, event: unknown, writerOf: WriterOf): DecodedEvent {
  const newest = writerOf(reader.id);
  if (newest !== undefined && newest !== 'incompatible' && reader.layout !== undefined) {
    const plain = frame(reader.id, reader.avroType.toBuffer(event));
    if (reader.layout.fits(plain, FRAME_BYTES)) return lateEvent(newest, plain, reader.layout);
  }
  return { type, event } as DecodedEvent;
}

const lateEvent = (writer: SchemaWriter, value: Buffer, layout: RecordLayout): DecodedEvent =>
  new LateEvent(writer, value, layout) as unknown as DecodedEvent;

/** It is its own PlainBytes, to save an object for each record that is kept. */
class LateEvent implements PlainBytes {
  readonly value: Buffer;
  readonly layout: RecordLayout;
  readonly #writer: SchemaWriter;

  constructor(writer: SchemaWriter, value: Buffer, layout: RecordLayout) {
    this.value = value;
    this.layout = layout;
    this.#writer = writer;
  }

  get type(): EventType {
    return this.#writer.type;
  }

  get plain(): PlainBytes {
    return this;
  }

  get event(): unknown {
    return this.#writer.read(this.value, 0, this.value.length);
  }
}

/** Parses one of our schemas. Every type has its own registry of names, so versions do not collide. */
const parse = (schema: string, typeHook: avro.ForSchemaOptions['typeHook']): avro.Type =>
  avro.Type.forSchema(JSON.parse(schema) as avro.Schema, { typeHook });

function viewOf(schema: string, fields: readonly string[], bound: ValueBound): avro.Type {
  const whole = JSON.parse(schema) as { readonly fields: readonly { readonly name: string }[] };
  const schemaOfView = JSON.stringify({ ...whole, fields: whole.fields.filter(({ name }) => fields.includes(name)) });
  return parse(schemaOfView, boundedTypes(bound, new TextCache()));
}

/** A writer schema of a type of turnstream. */
interface OwnSchema {
  readonly type: EventType;
  readonly writerType: avro.Type;
  readonly schema: string;
}

function makeWriter(parts: OwnSchema & { readonly reader: SchemaReader; readonly bound: ValueBound }): SchemaWriter | 'incompatible' {
  const { type, writerType, reader, schema, bound } = parts;
  const { decoded } = reader;
  const fields = decoded instanceof avro.types.RecordType ? decoded.fields : [];
  const maybe = new Set(fields.filter((field) => field.defaultValue() === -1).map(({ name }) => name));
  const check = countCheckOf(
    fields.map(({ name }) => name),
    maybe,
  );
  const checked = (event: unknown): unknown => (check(event), event);
  try {
    const resolver = writerType.equals(decoded) ? undefined : decoded.createResolver(writerType);
    const layout = reader.layout === undefined ? undefined : knownLayout(schema, reader.schema);
    const read: SchemaWriter['read'] = (bytes, start, end) => {
      bound.end = end;
      return checked(readBody({ bytes, start, end }, decoded, resolver));
    };
    return { type, reader, read, ...(layout === undefined ? {} : { layout }) };
  } catch {
    return 'incompatible';
  }
}

/** Undefined also for a foreign schema with a type for which there is no layout. */
function knownLayout(writer: string, reader: string): RecordLayout | undefined {
  try {
    return layoutBetween(writer, reader);
  } catch {
    return undefined;
  }
}

/** Decodes in place: a Buffer of its own for each body would cost more than a tenth of the decoding. */
function readBody({ bytes, start, end }: ValuePlace, type: avro.Type, resolver?: ReturnType<avro.Type['createResolver']>): unknown {
  const read: { readonly value: unknown; readonly offset: number } = type.decode(bytes, start + FRAME_BYTES, resolver);
  if (read.offset < 0 || read.offset > end) throw new Error('truncated buffer');
  if (read.offset < end) throw new Error('trailing data');
  return read.value;
}

function failure(reason: DecodeFailure, schemaId: number | undefined, cause: unknown): DecodeResult {
  return { ok: false, reason, schemaId, cause };
}
