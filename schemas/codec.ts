// Encodes events with the newest schema of their type and reads every version ever published, and later ones
// that the registry knows. Resolvers are made once per (writer id, reader), never per message.
import avro from 'avsc';
import { publishedSchemas, type EventByType, type EventType } from './generated/events.ts';
import { countCheckOf } from './counts.ts';
import { frame, FRAME_BYTES, schemaIdOf } from './framing.ts';
import { layoutOf, type Layout } from './layout.ts';
import { contentId, fullNameOf, latestSchema } from './subjects.ts';

/** An event of one of the types `T`, with that type, as read from the log. */
export type DecodedOf<T extends EventType> = {
  readonly [K in T]: { readonly type: K; readonly event: EventByType[K]; readonly plain?: PlainBytes };
}[T];

/** Any event with its type. */
export type DecodedEvent = DecodedOf<EventType>;

/** A value that the newest schema of its type wrote, in plain form: its fields can be taken from where they lie. */
export interface PlainBytes {
  /** With its frame: the record begins at `FRAME_BYTES`. */
  readonly value: Buffer;
  readonly layout: Layout;
}

export type DecodeFailure = 'not_framed' | 'unknown_schema' | 'incompatible_schema' | 'undecodable';

export type DecodeResult =
  | { readonly ok: true; readonly value: DecodedEvent }
  | { readonly ok: false; readonly reason: DecodeFailure; readonly schemaId: number | undefined; readonly cause: unknown };

export interface Codec {
  /** Framed bytes of one event. Throws when the event does not fit its schema: that is a bug of the caller. */
  encode<T extends EventType>(type: T, event: EventByType[T]): Buffer;
  /** Never throws: a value that cannot be read is a result with a reason. */
  decode(value: Buffer): DecodeResult;
  /** Adds a writer schema learnt from a registry. Answers false when it is not one of our event types. */
  learn(schemaId: number, schema: string): boolean;
  /** Type of the event behind a schema id, without decoding. */
  typeOfId(schemaId: number): EventType | undefined;
}

interface Writer {
  readonly type: EventType;
  /** Reads the body behind the frame of a value. */
  readonly read: (value: Buffer) => unknown;
  /** Of a type that is read late, when the newest schema wrote it. */
  readonly layout?: Layout;
}

interface Reader {
  readonly avroType: avro.Type;
  /** What decode gives: the same, or a view of it. */
  readonly decoded: avro.Type;
  readonly id: number;
  readonly layout: Layout | undefined;
}

/**
 * Fields that decode reads of some types; the rest of such a record is skipped without being turned into values, which
 * is three times as fast for a turn of 2 kB. Encoding always takes whole events.
 */
type EventView = { readonly [T in EventType]?: readonly (keyof EventByType[T] & string)[] };

export interface CodecOptions {
  /** The id that a registry assigned to a schema text; derived from the content by default. */
  readonly idOf?: (schema: string) => number;
  /** Who decodes through a view must use its fields alone: the others are not there. */
  readonly view?: EventView;
  /**
   * Types whose plain values are only checked by decode, and decoded when their `event` is asked for, anew each time. For
   * who mostly looks at their bytes, or keeps them long.
   */
  readonly late?: readonly EventType[];
}

export function createCodec(options: CodecOptions = {}): Codec {
  const idOf = options.idOf ?? contentId;
  const readers = new Map<EventType, Reader>();
  const typeByFullName = new Map<string, EventType>();
  for (const entry of publishedSchemas) {
    const latest = latestSchema(entry.name);
    const avroType = parse(latest.schema);
    const view = options.view?.[entry.name];
    const decoded = view === undefined ? avroType : viewOf(latest.schema, view);
    const layout = options.late?.includes(entry.name) === true ? layoutOf(latest.schema) : undefined;
    readers.set(entry.name, { avroType, decoded, id: idOf(latest.schema), layout });
    typeByFullName.set(fullNameOf(entry), entry.name);
  }
  const writers = new Map<number, Writer | 'incompatible'>();

  function learn(schemaId: number, schema: string): boolean {
    if (writers.has(schemaId)) return writers.get(schemaId) !== 'incompatible';
    const writerType = parse(schema);
    const type = typeByFullName.get(writerType.name ?? '');
    const reader = type === undefined ? undefined : readers.get(type);
    if (type === undefined || reader === undefined) return false;
    writers.set(schemaId, makeWriter({ type, writerType, reader }));
    return writers.get(schemaId) !== 'incompatible';
  }
  for (const entry of publishedSchemas) learn(idOf(entry.schema), entry.schema);

  return {
    encode(type, event) {
      const reader = readers.get(type);
      if (reader === undefined) throw new RangeError(`no schema is published for ${type}`);
      return frame(reader.id, reader.avroType.toBuffer(event));
    },
    decode(value) {
      const schemaId = schemaIdOf(value);
      if (schemaId === undefined) return failure('not_framed', undefined, `first byte is not 0 or fewer than ${FRAME_BYTES} bytes`);
      const writer = writers.get(schemaId);
      if (writer === undefined) return failure('unknown_schema', schemaId, `schema id ${schemaId} is not known`);
      if (writer === 'incompatible') return failure('incompatible_schema', schemaId, `schema id ${schemaId} cannot be read as our type`);
      const { layout } = writer;
      if (layout?.fits(value, FRAME_BYTES) === true)
        return { ok: true, value: new LateEvent(writer, value, layout) as unknown as DecodedEvent };
      try {
        return { ok: true, value: { type: writer.type, event: writer.read(value) } as DecodedEvent };
      } catch (cause) {
        return failure('undecodable', schemaId, cause);
      }
    },
    learn,
    typeOfId(schemaId) {
      const writer = writers.get(schemaId);
      return writer === undefined || writer === 'incompatible' ? undefined : writer.type;
    },
  };
}

/** Its own plain bytes: there is one for each record that is kept. */
class LateEvent implements PlainBytes {
  readonly value: Buffer;
  readonly layout: Layout;
  readonly #writer: Writer;

  constructor(writer: Writer, value: Buffer, layout: Layout) {
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
    return this.#writer.read(this.value);
  }
}

/** Parses one of our schemas. Every type has its own registry of names, so versions do not collide. */
const parse = (schema: string): avro.Type => avro.Type.forSchema(JSON.parse(schema) as avro.Schema);

function viewOf(schema: string, fields: readonly string[]): avro.Type {
  const whole = JSON.parse(schema) as { readonly fields: readonly { readonly name: string }[] };
  return parse(JSON.stringify({ ...whole, fields: whole.fields.filter(({ name }) => fields.includes(name)) }));
}

function makeWriter(parts: { type: EventType; writerType: avro.Type; reader: Reader }): Writer | 'incompatible' {
  const { type, writerType, reader } = parts;
  const { decoded, layout } = reader;
  const fields = decoded instanceof avro.types.RecordType ? decoded.fields : [];
  const maybe = new Set(fields.filter((field) => field.defaultValue() === -1).map(({ name }) => name));
  const check = countCheckOf(
    fields.map(({ name }) => name),
    maybe,
  );
  const checked = (event: unknown): unknown => (check(event), event);
  if (writerType.equals(decoded)) {
    return { type, read: (value) => checked(readBody(value, decoded)), ...(layout === undefined ? {} : { layout }) };
  }
  try {
    const resolver = decoded.createResolver(writerType);
    return { type, read: (value) => checked(readBody(value, decoded, resolver)) };
  } catch {
    return 'incompatible';
  }
}

/** In place: a view of the body would cost more than a tenth of reading it. */
function readBody(value: Buffer, type: avro.Type, resolver?: ReturnType<avro.Type['createResolver']>): unknown {
  const read: { readonly value: unknown; readonly offset: number } = type.decode(value, FRAME_BYTES, resolver);
  if (read.offset < 0) throw new Error('truncated buffer');
  if (read.offset < value.length) throw new Error('trailing data');
  return read.value;
}

function failure(reason: DecodeFailure, schemaId: number | undefined, cause: unknown): DecodeResult {
  return { ok: false, reason, schemaId, cause };
}
