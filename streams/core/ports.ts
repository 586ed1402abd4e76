// What the core and both sides need from the world. Adapters live in infra/.
import type { EventByType, EventTopic, EventType } from '../../schemas/generated/events.ts';
import type { DecodedEvent, DecodeFailure } from '../../schemas/codec.ts';

/** Injected, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds since the epoch, for timestamps. It may be wrong, jump, or go back. */
  now(): number;
  /** Milliseconds since some moment of this process, for durations and deadlines. It never goes back. */
  monotonic(): number;
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Structured logging; one line an operational event, never one a record. */
export interface Logger {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** Offsets are numbers: Kafka's 64 bits are never reached, and 2^53 is 285,000 years of a million a second. */
export interface Position {
  readonly topic: EventTopic;
  readonly partition: number;
  /** The next offset to be read. */
  readonly offset: number;
}

/** One record of the log as it lies there. */
export interface LogRecord {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly offset: number;
  /** Broker or producer time, ms. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Lower-case names; `run-id` and the CloudEvents `ce_*` are always there on our own records. */
  readonly headers: Readonly<Record<string, Buffer>>;
  /** Which leader of the partition wrote it, where the log tells. It never falls within a partition. */
  readonly leaderEpoch?: number;
}

export type EventRead =
  | { readonly ok: true; readonly record: LogRecord; readonly value: DecodedEvent }
  | { readonly ok: false; readonly record: LogRecord; readonly reason: DecodeFailure | 'empty'; readonly error: string };

/** An event to be written. The topic follows from the type. */
export type OutgoingEvent = {
  readonly [T in EventType]: { readonly type: T; readonly key: string; readonly event: EventByType[T]; readonly traceparent?: string };
}[EventType];

/** Where an event was put. */
export interface Appended {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly offset: number;
}

/** Appends events, idempotently, acknowledged by all in-sync replicas. One answer for each event, in order. */
export interface EventWriter {
  append(events: readonly OutgoingEvent[]): Promise<readonly Appended[]>;
  close(): Promise<void>;
}

/** The single writer of a run: everything in one call becomes visible together or not at all. */
export interface TransactionalWriter {
  /**
   * Throws PRODUCER_FENCED when another writer took over, or when the broker ended a transaction for its age; then nothing of
   * the call is visible. After any failure the writer is beyond use.
   */
  commit(work: {
    readonly events: readonly OutgoingEvent[];
    readonly offsets?: { readonly group: string; readonly positions: readonly (Position & { readonly metadata?: string })[] };
  }): Promise<readonly Appended[]>;
  close(): Promise<void>;
}

export interface LogBatch {
  readonly topic: EventTopic;
  readonly partition: number;
  /** Empty when only markers or aborted records were passed over: then the position alone has moved. */
  readonly records: readonly LogRecord[];
  /** The offset after the last record of the batch, markers of transactions included. */
  readonly nextOffset: number;
  /** The end of the partition as the broker told it with this batch. */
  readonly endOffset: number;
}

/** Offsets that a reader was to read and that the log no longer has: retention deleted them. `to` is the first that is there. */
export interface SkippedRange {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Reads of the log without being a lasting member of any group; only committed records are seen. */
export interface LogReader {
  /** First and end offset of each partition. */
  bounds(topic: EventTopic): Promise<readonly { readonly partition: number; readonly first: number; readonly end: number }[]>;
  /**
   * Reads from `from` (a partition left out starts at its first offset) up to where each partition ended when the call began,
   * or to what lies before `to`, which, when it is given, leaves out the partitions that it does not name. Rejects with the
   * reason of the signal.
   */
  readToEnd(
    topic: EventTopic,
    options: {
      readonly from?: ReadonlyMap<number, number>;
      readonly to?: ReadonlyMap<number, number>;
      readonly signal?: AbortSignal;
      readonly onBatch: (batch: LogBatch) => Promise<void> | void;
      /** Told before what lies behind the range is delivered. Without it whoever connected is told. A partition that is read from its first offset skips nothing. */
      readonly onSkipped?: (skipped: SkippedRange) => void;
    },
  ): Promise<void>;
  /** Follows topics for ever from the given positions ('first' or 'end' where none is given). Resolves once it is reading. */
  follow(options: {
    readonly topics: readonly EventTopic[];
    readonly from: readonly Position[];
    readonly otherwise: 'first' | 'end';
    readonly onBatch: (batch: LogBatch) => Promise<void> | void;
    /** As that of readToEnd; also for what retention deletes while the reader is behind. */
    readonly onSkipped?: (skipped: SkippedRange) => void;
    readonly onError: (error: unknown) => void;
  }): Promise<Following>;
}

export interface Following {
  /** Stops fetching these topics until resume; what was fetched already may still be delivered. */
  pause(topics: readonly EventTopic[]): void;
  resume(topics: readonly EventTopic[]): void;
  close(): Promise<void>;
}

/** What a member of a consumer group may do with the partitions that it has now. */
export interface GroupSession {
  /** Commits through the group's generation: throws GROUP_FENCED when this member no longer owns the partition. */
  commit(positions: readonly (Position & { readonly metadata?: string })[]): Promise<void>;
  heartbeat(): Promise<void>;
  /** True once this member is on its way into another generation: its partitions may be another's at any moment. */
  isOver(): boolean;
}

/** A lasting member of a consumer group with manual commits. */
export interface GroupConsumer {
  /** `onAssigned` runs before the first batch of newly assigned partitions and may answer positions to start from. */
  start(options: {
    readonly group: string;
    readonly topics: readonly EventTopic[];
    readonly onAssigned?: (
      assigned: readonly { readonly topic: EventTopic; readonly partitions: readonly number[] }[],
      session: GroupSession,
    ) => Promise<readonly Position[]>;
    /**
     * The log does not have the position of a partition, because its tail or its head was cut; the member then joins its
     * group again. Without this the partition goes on at its first record.
     */
    readonly onOutOfRange?: (at: { readonly topic: EventTopic; readonly partition: number }) => void;
    /** When it throws GROUP_FENCED the member joins its group again, and starts from what is committed. */
    readonly onBatch: (batch: LogBatch, session: GroupSession) => Promise<void>;
    readonly onError: (error: unknown) => void;
  }): Promise<void>;
  /** Pauses or resumes all partitions of a topic. */
  pause(topics: readonly EventTopic[]): void;
  resume(topics: readonly EventTopic[]): void;
  close(): Promise<void>;
}

/** Committed offsets of a group, with the metadata that was committed beside them; offset -1 = none. */
export interface GroupOffsets {
  fetch(
    group: string,
    topic: EventTopic,
  ): Promise<readonly { readonly partition: number; readonly offset: number; readonly metadata: string }[]>;
}

/** Offsets that no record of a run lies before. */
export interface RunStart {
  readonly training: number;
  readonly policies: number;
  /** By partition; a partition that is not there was made later. Runs of earlier versions have none. */
  readonly rollouts?: readonly number[];
  readonly tasks?: readonly number[];
}

/** Where each run begins, so that whoever starts reads nothing of what other runs wrote. */
export interface RunIndex {
  /** Undefined for a run that has not begun. */
  startOf(runId: string): Promise<RunStart | undefined>;
  /** To be called before the first entry of a run is written, with ends of the log from before startOf was asked. */
  note(runId: string, start: RunStart): Promise<void>;
}

/** Turns records into events, asking the registry about schema ids that it does not know yet. */
export interface EventReader {
  read(record: LogRecord): EventRead | Promise<EventRead>;
}

/** One version of a schema under a subject, as Confluent's REST interface names it. */
export interface RegisteredSchema {
  readonly subject: string;
  readonly version: number;
  readonly id: number;
  readonly schema: string;
}

/** A schema registry: Confluent's, or ours out of a compacted topic. */
export interface SchemaRegistry {
  /** Makes sure that every published schema of ours is registered. Safe to repeat and to run in several processes. */
  ensurePublished(): Promise<void>;
  /** Id of one of our schema texts, once ensurePublished has run. */
  idOf(schema: string): number;
  /** Registers a version; the same text again answers the version that is there. Throws SCHEMA_INVALID or SCHEMA_INCOMPATIBLE. */
  register(subject: string, schema: string): Promise<RegisteredSchema>;
  /** Undefined when there is none. Asks the source again before it says so. */
  byId(id: number): Promise<string | undefined>;
  subjects(): Promise<readonly string[]>;
  versions(subject: string): Promise<readonly RegisteredSchema[]>;
  close(): Promise<void>;
}

/** A cell of a row: what JSON can carry. 64-bit integers as numbers or decimal strings. */
export type Cell = string | number | boolean | null | readonly Cell[];
export type Row = Readonly<Record<string, Cell>>;

/** Texts in UTF-8 where they lie: text i is `sources[i]` from `starts[i]` up to `ends[i]`. */
export interface TextColumn {
  readonly kind: 'texts';
  readonly sources: readonly Buffer[];
  readonly starts: ArrayLike<number>;
  readonly ends: ArrayLike<number>;
}

/** Lists whose items follow each other: list i ends before item `ends[i]`. */
export interface ListColumn {
  readonly kind: 'lists';
  readonly ends: ArrayLike<number>;
  readonly items: Column;
}

export type Column = readonly Cell[] | Float64Array | TextColumn | ListColumn;

/** Rows as columns: what a store takes without an object for each row and a string for each text. */
export interface ColumnRows {
  readonly length: number;
  /** By name, all of `length` cells. */
  columns(): ReadonlyMap<string, Column>;
  /** The same as objects, for a store that cannot take a column as it is. */
  rows(): readonly Row[];
}

export type Rows = readonly Row[] | ColumnRows;

export interface QueryOptions {
  /** Bound as `{name:Type}`; never spliced into the text. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, string | number>>;
  readonly signal?: AbortSignal;
}

/** How an insert is known to the server; a text alone is its token. */
export interface InsertAs {
  readonly token: string;
  /** Of the statement, by which it can be ended while it is under way. At most 200 characters. */
  readonly id?: string;
  /** Called when nothing has been sent yet and all is ready to be; what it throws ends the insert. */
  readonly beforeSending?: () => void;
}

/** ClickHouse, embedded or not. Outages are STORE_UNAVAILABLE or STORE_FULL (retriable), refusals STORE_REFUSED with its own message and `context.clickhouseCode`. */
export interface Store {
  readonly database: string;
  ping(): Promise<boolean>;
  query<T extends object = Row>(sql: string, options?: QueryOptions): Promise<readonly T[]>;
  /** Bytes in any ClickHouse output format. */
  stream(sql: string, options: QueryOptions & { readonly format: string }): Promise<AsyncIterable<Buffer>>;
  command(sql: string, options?: QueryOptions): Promise<void>;
  /**
   * Synchronous insert; the same token again changes nothing, as long as the server remembers it. After an error that is
   * retriable the rows may be in, in part, or still be on their way in.
   */
  insert(table: string, rows: Rows, as: string | InsertAs): Promise<void>;
  close(): Promise<void>;
}
