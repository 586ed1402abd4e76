// The ports that the core and both sides need. Adapters are in infra/.
import type { EventByType, EventTopic, EventType } from '../../schemas/generated/events.ts';
import type { DecodedEvent, DecodeFailure, ValuePlace } from '../../schemas/codec.ts';

/** Injected, so that tests control time. */
export interface Clock {
  /** Milliseconds since the epoch, for timestamps. It may be wrong, jump, or go backward. */
  now(): number;
  /** Milliseconds since an arbitrary point in this process, for durations and deadlines. It never goes backward. */
  monotonic(): number;
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Structured logging: one line per operational event, never one per record. */
export interface Logger {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** Offsets are numbers: at a million records a second, 2^53 lasts 285 years. */
export interface Position {
  readonly topic: EventTopic;
  readonly partition: number;
  /** Next offset to read. */
  readonly offset: number;
}

/** One raw record of the log. */
export interface LogRecord {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly offset: number;
  /** Broker or producer time, ms. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** The key as text, without a Buffer for it; for readers of many records. */
  readonly keyText?: string | undefined;
  /** Where the value lies, to decode it without a Buffer for it; undefined if it does not lie in the bytes of its batch. */
  placeOfValue?(): ValuePlace | undefined;
  /** Lowercase names; our own records always have `run-id` and the CloudEvents `ce_*` headers. */
  readonly headers: Readonly<Record<string, Buffer>>;
  /** Epoch of the partition leader that wrote the record, if the log reports it. It never decreases within a partition. */
  readonly leaderEpoch?: number;
  /** Tool result of a turn whose value has an empty one, from a reader that keeps shared texts apart. */
  readonly textApart?: Buffer | undefined;
}

export type EventRead =
  | { readonly ok: true; readonly record: LogRecord; readonly value: DecodedEvent }
  | { readonly ok: false; readonly record: LogRecord; readonly reason: DecodeFailure | 'empty'; readonly error: string };

/** An event to write. Its type determines the topic. */
export type OutgoingEvent = {
  readonly [T in EventType]: { readonly type: T; readonly key: string; readonly event: EventByType[T]; readonly traceparent?: string };
}[EventType];

/** Position of an appended event. */
export interface Appended {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly offset: number;
}

/** Appends events idempotently, acknowledged by all in-sync replicas. Returns one result per event, in order. */
export interface EventWriter {
  append(events: readonly OutgoingEvent[]): Promise<readonly Appended[]>;
  close(): Promise<void>;
}

/** The single writer of a run: all events of one call become visible together or not at all. */
export interface TransactionalWriter {
  /**
   * Throws PRODUCER_FENCED when another writer took over or the broker aborted a transaction that timed out; then nothing from the call is
   * visible. After any failure the writer is unusable.
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
  /** Empty when the batch holds only transaction markers or aborted records: then only the position moves. */
  readonly records: readonly LogRecord[];
  /** Offset after the last record of the batch, including transaction markers. */
  readonly nextOffset: number;
  /** End offset of the partition, as the broker reported it with this batch. */
  readonly endOffset: number;
}

/** Offsets that a reader should have read but that retention has deleted from the log. `to` is the first offset that still exists. */
export interface SkippedRange {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Reads the log outside any long-lived consumer group; sees only committed records. */
export interface LogReader {
  /** First and end offset of each partition. */
  bounds(topic: EventTopic): Promise<readonly { readonly partition: number; readonly first: number; readonly end: number }[]>;
  /**
   * Reads from `from` (a partition that is not listed starts at its first offset) up to the end of each partition at the time of the call,
   * or up to `to` (exclusive). When `to` is given, it reads only the partitions listed in `to`. Rejects with the signal's reason.
   */
  readToEnd(
    topic: EventTopic,
    options: {
      readonly from?: ReadonlyMap<number, number>;
      readonly to?: ReadonlyMap<number, number>;
      readonly signal?: AbortSignal;
      readonly onBatch: (batch: LogBatch) => Promise<void> | void;
      /**
       * Called before any record after the range is delivered. By default the callback of the connection is called. A partition that is
       * read from its first offset skips nothing.
       */
      readonly onSkipped?: (skipped: SkippedRange) => void;
    },
  ): Promise<void>;
  /** Follows topics until closed, from the given positions ('first' or 'end' for partitions without one). Resolves once it is reading. */
  follow(options: {
    readonly topics: readonly EventTopic[];
    readonly from: readonly Position[];
    readonly otherwise: 'first' | 'end';
    readonly onBatch: (batch: LogBatch) => Promise<void> | void;
    /** Like `onSkipped` of readToEnd; also called for records that retention deletes while the reader lags behind. */
    readonly onSkipped?: (skipped: SkippedRange) => void;
    readonly onError: (error: unknown) => void;
  }): Promise<Following>;
}

export interface Following {
  /** Stops fetching these topics until resume; records that are already fetched may still be delivered. */
  pause(topics: readonly EventTopic[]): void;
  resume(topics: readonly EventTopic[]): void;
  close(): Promise<void>;
}

/** What a member of a consumer group may do with the partitions it currently owns. */
export interface GroupSession {
  /** Commits with the group generation: throws GROUP_FENCED when this member no longer owns the partition. */
  commit(positions: readonly (Position & { readonly metadata?: string })[]): Promise<void>;
  heartbeat(): Promise<void>;
  /** True once this member starts to rejoin: its partitions may belong to another member at any time. */
  isOver(): boolean;
}

/** A long-lived member of a consumer group with manual commits. */
export interface GroupConsumer {
  /** `onAssigned` runs before the first batch of newly assigned partitions and may return start positions. */
  start(options: {
    readonly group: string;
    readonly topics: readonly EventTopic[];
    readonly onAssigned?: (
      assigned: readonly { readonly topic: EventTopic; readonly partitions: readonly number[] }[],
      session: GroupSession,
    ) => Promise<readonly Position[]>;
    /**
     * Called when the log no longer has the position of a partition because its head or tail was truncated; the member then rejoins the
     * group. Without it, the partition continues at its first record.
     */
    readonly onOutOfRange?: (at: { readonly topic: EventTopic; readonly partition: number }) => void;
    /** When it throws GROUP_FENCED, the member rejoins the group and starts from the committed offsets. */
    readonly onBatch: (batch: LogBatch, session: GroupSession) => Promise<void>;
    readonly onError: (error: unknown) => void;
  }): Promise<void>;
  /** Pauses or resumes all partitions of a topic. */
  pause(topics: readonly EventTopic[]): void;
  resume(topics: readonly EventTopic[]): void;
  close(): Promise<void>;
}

export type GroupStartOptions = Parameters<GroupConsumer['start']>[0];

/** Committed offsets of a group with their metadata; offset -1 = none. */
export interface GroupOffsets {
  fetch(
    group: string,
    topic: EventTopic,
  ): Promise<readonly { readonly partition: number; readonly offset: number; readonly metadata: string }[]>;
}

/** What a group has committed of a topic, by partition. */
export type CommittedOffsets = Awaited<ReturnType<GroupOffsets['fetch']>>;

/** Lower bounds of a run's offsets: no record of the run is before them. */
export interface RunStart {
  readonly training: number;
  readonly policies: number;
  /** By partition; a partition that is missing was created later. Runs of earlier releases have none. */
  readonly rollouts?: readonly number[];
  readonly tasks?: readonly number[];
}

/** Where each run begins, so that a starting role does not read the records of other runs. */
export interface RunIndex {
  /** Undefined for a run that has not started. */
  startOf(runId: string): Promise<RunStart | undefined>;
  /** Call before writing the first entry of a run, with end offsets that were read before the call to startOf. */
  note(runId: string, start: RunStart): Promise<void>;
}

/** Decodes records into events; asks the registry for schema ids that it does not know yet. */
export interface EventReader {
  read(record: LogRecord): EventRead | Promise<EventRead>;
}

/** An event reader that can also decode without waiting. */
export interface EventDecoder extends EventReader {
  /** False for a record whose schema id is not known yet: `read` asks the registry for it. */
  knows(record: LogRecord): boolean;
  /** A record whose schema is not known is unreadable. */
  decode(record: LogRecord): EventRead;
}

/** One version of a schema under a subject, as Confluent's REST interface names it. */
export interface RegisteredSchema {
  readonly subject: string;
  readonly version: number;
  readonly id: number;
  readonly schema: string;
}

/** A schema registry: Confluent's, or our own on a compacted topic. */
export interface SchemaRegistry {
  /** Ensures that all our published schemas are registered. Safe to repeat and to run in several processes. */
  ensurePublished(): Promise<void>;
  /** Id of one of our schema texts; available after ensurePublished. */
  idOf(schema: string): number;
  /** Registers a version; registering the same text again returns the existing version. Throws SCHEMA_INVALID or SCHEMA_INCOMPATIBLE. */
  register(subject: string, schema: string): Promise<RegisteredSchema>;
  /** Undefined when there is none, after asking the source again. */
  byId(id: number): Promise<string | undefined>;
  subjects(): Promise<readonly string[]>;
  versions(subject: string): Promise<readonly RegisteredSchema[]>;
  close(): Promise<void>;
}

/** A cell of a row: any JSON value except objects. 64-bit integers are numbers or decimal strings. */
export type Cell = string | number | boolean | null | readonly Cell[];
export type Row = Readonly<Record<string, Cell>>;

/** UTF-8 texts in place: text i is `sources[i]` from `starts[i]` up to `ends[i]`. */
export interface TextColumn {
  readonly kind: 'texts';
  readonly sources: readonly Buffer[];
  readonly starts: ArrayLike<number>;
  readonly ends: ArrayLike<number>;
}

/** Lists whose items are contiguous: list i ends before item `ends[i]`. */
export interface ListColumn {
  readonly kind: 'lists';
  readonly ends: ArrayLike<number>;
  readonly items: Column;
}

export type Column = readonly Cell[] | Float64Array | TextColumn | ListColumn;

/** Rows in columnar form: a store can take them without an object per row or a string per text. */
export interface ColumnRows {
  readonly length: number;
  /** By column name; each has `length` cells. */
  columns(): ReadonlyMap<string, Column>;
  /** The same rows as objects, for a store that cannot take columns. */
  rows(): readonly Row[];
}

export type Rows = readonly Row[] | ColumnRows;

export interface QueryOptions {
  /** Bound as `{name:Type}`; never interpolated into the SQL text. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, string | number>>;
  readonly signal?: AbortSignal;
}

/** How the server identifies an insert; a plain string is the token. */
export interface InsertAs {
  readonly token: string;
  /** Id of the statement, used to cancel it while it runs. At most 200 characters. */
  readonly id?: string;
  /** Called when the insert is ready but nothing has been sent; throwing cancels the insert. */
  readonly beforeSending?: () => void;
}

/**
 * ClickHouse, embedded or not. Outages are STORE_UNAVAILABLE or STORE_FULL (retriable); refusals are STORE_REFUSED with ClickHouse's
 * message and `context.clickhouseCode`.
 */
export interface Store {
  readonly database: string;
  ping(): Promise<boolean>;
  query<T extends object = Row>(sql: string, options?: QueryOptions): Promise<readonly T[]>;
  /** Bytes in any ClickHouse output format. */
  stream(sql: string, options: QueryOptions & { readonly format: string }): Promise<AsyncIterable<Buffer>>;
  command(sql: string, options?: QueryOptions): Promise<void>;
  /**
   * Synchronous insert; repeating a token has no effect as long as the server remembers it. After a retriable error, all or some of the
   * rows may be stored, or may still be on their way.
   */
  insert(table: string, rows: Rows, as: string | InsertAs): Promise<void>;
  close(): Promise<void>;
}
