// Decodes the record batches of a fetch (Kafka's message format 2). patches/fetch-decoder.ts replaces the decoder of kafkajs with it.
//
// - Buffers of a record are views into the response or into the decompressed batch: nothing is copied. They are created lazily: a fetch has
// tens of thousands of records that wait for their handler, and most readers look at only a part of each.
// - A batch that cannot be decompressed becomes one record at its last offset, with its first bytes as the value and the reason in a
// header, so that it can become a dead letter and the partition continues.
import type { ValuePlace } from '../../../schemas/codec.ts';
import { Cursor } from '../../../schemas/cursor.ts';
import { TextCache } from '../../../schemas/text-cache.ts';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { messageOf } from '../../../streams/core/errors.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';
import { decompress } from './compression.ts';
import { decodeHeaders, type Header } from './headers.ts';
import { parseTextHeader, TEXT_HEADER, withText, type TextReference } from './text-reference.ts';

const BATCH_HEADER_BYTES = 61;
const LENGTH_END = 12;
const CODEC_MASK = 0x07;
const LOG_APPEND_TIME = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/** Header of a record that replaces an unreadable batch; its value is the reason. */
const UNREADABLE_HEADER = 'turnstream-unreadable-batch';
const UNREADABLE_VALUE_BYTES = 65_536;

interface BatchContext {
  readonly producerId: string;
  readonly inTransaction: boolean;
  readonly leaderEpoch: number;
}

/** State shared by the records that one response has of a partition. */
interface FetchedPart {
  /** Unknown until placeRecords, after the records have passed through kafkajs. */
  place: TopicPartition;
  /** Whether there are control records. */
  hasMarkers: boolean;
  /** Of its batches in the response. */
  packedBytes: number;
  /** Of the same batches without compression. */
  plainBytes: number;
}

/** State shared by the records of a batch. */
interface BatchSource {
  readonly part: FetchedPart;
  readonly cursor: Cursor;
  readonly context: BatchContext;
  readonly isControlRecord: boolean;
  /** Headers of the record that was decoded last. */
  readonly previous: Header[];
}

/** Where a record was fetched from. */
interface TopicPartition {
  readonly topic: EventTopic;
  readonly partition: number;
}

/** A record (the first value of a repeated header wins), with the fields that filter out control and aborted records. */
export interface FetchedRecord extends LogRecord {
  readonly isControlRecord: boolean;
  readonly batchContext: BatchContext;
  readonly part: FetchedPart;
  /** Reference to the shared text that is missing from the record; undefined once the text is set. */
  readonly lacks: TextReference | undefined;
  /** Inserts the missing text into the value, or keeps it apart, and removes the reference from the headers. */
  give(text: Buffer, apart: boolean): void;
}

const empty = Buffer.alloc(0);
const nowhere: TopicPartition = { topic: 'rollouts', partition: -1 };

abstract class PlacedRecord {
  abstract readonly part: FetchedPart;
  abstract readonly batchContext: BatchContext;

  get leaderEpoch(): number {
    return this.batchContext.leaderEpoch;
  }

  get topic(): EventTopic {
    return this.part.place.topic;
  }

  get partition(): number {
    return this.part.place.partition;
  }
}

/** Sets where the records of one part were fetched from. */
export function placeRecords([first]: readonly FetchedRecord[], place: TopicPartition): void {
  if (first !== undefined) first.part.place = place;
}

/** The text that a record shares with others. */
interface SharedText {
  readonly reference: TextReference;
  text: Buffer | undefined;
  isApart: boolean;
  /** The value with the text inserted. */
  value: Buffer | undefined;
}

const keys = new TextCache();

/** A record that is decoded lazily from its batch. It has few fields: the records of a fetch outlive several garbage collections. */
class LazyRecord extends PlacedRecord implements FetchedRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly #source: BatchSource;
  /** Position of its key in the bytes of the batch. */
  readonly #at: number;
  #headers: Readonly<Record<string, Buffer>> | undefined;
  #shared: SharedText | undefined;

  constructor(source: BatchSource, offset: number, timestampMs: number) {
    super();
    this.offset = offset;
    this.timestampMs = timestampMs;
    this.#source = source;
    this.#at = source.cursor.at;
  }

  get part(): FetchedPart {
    return this.#source.part;
  }

  get isControlRecord(): boolean {
    return this.#source.isControlRecord;
  }

  get batchContext(): BatchContext {
    return this.#source.context;
  }

  get key(): Buffer | null {
    const { cursor } = this.#source;
    cursor.at = this.#at;
    return cursor.block();
  }

  get keyText(): string | undefined {
    const { cursor } = this.#source;
    cursor.at = this.#at;
    const length = cursor.number();
    return length < 0 ? undefined : keys.read(cursor.bytes, cursor.at, cursor.at + length);
  }

  placeOfValue(): ValuePlace | undefined {
    if (this.#shared?.text !== undefined && !this.#shared.isApart) return undefined;
    const { cursor } = this.#source;
    cursor.at = this.#at;
    cursor.skip();
    const length = cursor.number();
    return length < 0 ? undefined : { bytes: cursor.bytes, start: cursor.at, end: cursor.at + length };
  }

  get value(): Buffer | null {
    const shared = this.#shared;
    if (shared?.text === undefined || shared.isApart) return this.#valueInBatch();
    shared.value ??= withText(this.#valueInBatch() ?? empty, shared.reference.at, shared.text);
    return shared.value;
  }

  get textApart(): Buffer | undefined {
    return this.#shared?.isApart === true ? this.#shared.text : undefined;
  }

  #valueInBatch(): Buffer | null {
    const { cursor } = this.#source;
    cursor.at = this.#at;
    cursor.skip();
    return cursor.block();
  }

  get lacks(): TextReference | undefined {
    return this.#shared?.text === undefined ? this.#shared?.reference : undefined;
  }

  /** Call it after checkParts, so that the headers can be read safely. */
  findReference(): void {
    const reference = parseTextHeader(this.headers[TEXT_HEADER]);
    if (reference !== undefined) this.#shared = { reference, text: undefined, isApart: false, value: undefined };
  }

  give(text: Buffer, apart: boolean): void {
    if (this.#shared === undefined) return;
    this.#shared.text = text;
    this.#shared.isApart = apart;
    const { [TEXT_HEADER]: _reference, ...others } = this.headers;
    this.#headers = others;
  }

  get headers(): Readonly<Record<string, Buffer>> {
    if (this.#headers !== undefined) return this.#headers;
    const { cursor, previous } = this.#source;
    cursor.at = this.#at;
    cursor.skip();
    cursor.skip();
    this.#headers = decodeHeaders(cursor, previous);
    return this.#headers;
  }
}

/** Replaces a batch that cannot be decompressed. */
class UnreadableRecord extends PlacedRecord implements FetchedRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key = null;
  readonly value: Buffer;
  readonly headers: LogRecord['headers'];
  readonly isControlRecord = false;
  readonly lacks = undefined;
  readonly part: FetchedPart;
  readonly batchContext: BatchContext;

  constructor(part: FetchedPart, batch: RecordBatch, reason: string) {
    super();
    this.part = part;
    this.offset = batch.lastOffset;
    this.timestampMs = batch.baseTimestamp;
    this.value = batch.body.subarray(0, UNREADABLE_VALUE_BYTES);
    this.headers = { [UNREADABLE_HEADER]: Buffer.from(reason) };
    this.batchContext = batch.context;
  }

  /** It lacks no text. */
  give(): void {
    return undefined;
  }
}

interface RecordBatch {
  readonly attributes: number;
  readonly baseOffset: number;
  readonly baseTimestamp: number;
  readonly appendTimestamp: number | undefined;
  readonly lastOffset: number;
  readonly count: number;
  readonly context: BatchContext;
  /** The records, possibly compressed. */
  readonly body: Buffer;
}

/** What has been decoded of a response. */
interface DecodedPart {
  readonly records: FetchedRecord[];
  readonly part: FetchedPart;
}

/** Decodes batches up to the first truncated one; the last batch of a fetch may be truncated. */
export async function decodeRecordBatches(bytes: Buffer): Promise<FetchedRecord[]> {
  const fetched: DecodedPart = { records: [], part: { place: nowhere, hasMarkers: false, packedBytes: 0, plainBytes: 0 } };
  let at = 0;
  while (at + BATCH_HEADER_BYTES <= bytes.length) {
    const end = at + LENGTH_END + bytes.readInt32BE(at + 8);
    if (end > bytes.length || end < at + BATCH_HEADER_BYTES) break;
    const batch = readBatch(bytes.subarray(at, end));
    fetched.part.packedBytes += end - at;
    const codec = batch.attributes & CODEC_MASK;
    if (codec === 0) decodeInto(fetched, batch, batch.body);
    else await decodePacked(fetched, batch, codec);
    at = end;
  }
  return fetched.records;
}

async function decodePacked(fetched: DecodedPart, batch: RecordBatch, codec: number): Promise<void> {
  const { records, part } = fetched;
  const before = records.length;
  try {
    decodeInto(fetched, batch, await decompress(codec, batch.body));
  } catch (error) {
    records.length = before;
    records.push(new UnreadableRecord(part, batch, messageOf(error)));
  }
}

function readBatch(bytes: Buffer): RecordBatch {
  const attributes = bytes.readInt16BE(21);
  const baseOffset = readInt64(bytes, 0);
  return {
    attributes,
    baseOffset,
    lastOffset: baseOffset + bytes.readInt32BE(23),
    baseTimestamp: readInt64(bytes, 27),
    appendTimestamp: (attributes & LOG_APPEND_TIME) === 0 ? undefined : readInt64(bytes, 35),
    context: {
      producerId: bytes.readBigInt64BE(43).toString(),
      inTransaction: (attributes & TRANSACTIONAL) !== 0,
      leaderEpoch: bytes.readInt32BE(LENGTH_END),
    },
    count: bytes.readInt32BE(57),
    body: bytes.subarray(BATCH_HEADER_BYTES),
  };
}

const readInt64 = (bytes: Buffer, at: number): number => bytes.readInt32BE(at) * 4_294_967_296 + bytes.readUInt32BE(at + 4);

function decodeInto({ records, part }: DecodedPart, batch: RecordBatch, body: Buffer): void {
  const cursor = new Cursor(body);
  const { baseOffset, baseTimestamp, appendTimestamp, context } = batch;
  const source: BatchSource = { part, cursor, context, isControlRecord: (batch.attributes & CONTROL) !== 0, previous: [] };
  part.hasMarkers ||= source.isControlRecord;
  part.plainBytes += BATCH_HEADER_BYTES + body.length;
  for (let index = 0; index < batch.count; index += 1) {
    const length = cursor.number();
    const end = cursor.at + length;
    if (length < 0 || end > body.length) throw new RangeError('a record is cut off');
    // One byte of attributes, unused in every version of the format.
    cursor.at += 1;
    const timestamp = baseTimestamp + cursor.number();
    const offset = baseOffset + cursor.number();
    const record = new LazyRecord(source, offset, appendTimestamp ?? timestamp);
    records.push(record);
    if (checkParts(cursor, end)) record.findReference();
    cursor.at = end;
  }
}

const textHeaderBytes = Buffer.from(TEXT_HEADER);

/**
 * Checks that key, value and headers lie within their record, so that lazy access cannot fail. Returns whether a header refers to a shared
 * text.
 */
function checkParts(cursor: Cursor, end: number): boolean {
  let refers = false;
  cursor.skip();
  cursor.skip();
  for (let count = cursor.number(); count > 0 && cursor.at <= end; count -= 1) {
    const length = cursor.number();
    refers ||= length === textHeaderBytes.length && cursor.isAt(textHeaderBytes);
    if (length > 0) cursor.at += length;
    cursor.skip();
  }
  if (cursor.at > end) throw new RangeError('a record is cut off');
  return refers;
}
