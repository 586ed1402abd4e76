// The log in memory, for unit tests of lanes: real encoded records, partitions chosen as in Kafka, transaction markers, groups with
// generations. It passes the same contract (log/log.contract.ts) as the adapter of Kafka.
import { createCodec, type Codec } from '../../schemas/codec.ts';
import { publishedSchemas, type EventTopic } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type {
  Appended,
  Clock,
  EventWriter,
  GroupConsumer,
  GroupOffsets,
  LogBatch,
  LogReader,
  LogRecord,
  OutgoingEvent,
  Position,
  TransactionalWriter,
} from '../../streams/core/ports.ts';
import { messageOf, type HeaderValues, type RawRecord } from '../kafka/records/message.ts';
import { partitionOf } from '../kafka/writing/partitioner.ts';
import { followMemory } from './memory-follow.ts';
import { MemoryGroup } from './memory-group.ts';

export type FaultPoint =
  /** An append fails and nothing is written. */
  | 'append'
  /** A transaction fails and nothing of it is visible. */
  | 'commit'
  /** A transaction is visible but its writer gets an error. */
  | 'commit_answer'
  /** An offset commit of a group fails. */
  | 'offsets';

type Slot = { readonly visible: true; readonly record: LogRecord } | { readonly visible: false };

/** Slots of a partition by offset; what was deleted from the start stays as a gap below `first`. */
export interface MemoryPartition {
  readonly topic: EventTopic;
  readonly partition: number;
  first: number;
  leaderEpoch: number;
  readonly slots: Slot[];
}

export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string;
}

export interface MemoryLogOptions {
  readonly codec?: Codec;
  readonly namespace?: string;
  readonly clock?: Pick<Clock, 'now'>;
  /** Partitions of a topic; 1 unless given. */
  readonly partitions?: Partial<Record<EventTopic, number>>;
  /** Maximum records per batch. */
  readonly batchRecords?: number;
}

const topics = [...new Set(publishedSchemas.map((entry) => entry.topic))];
const defaultPartitions: Partial<Record<EventTopic, number>> = { tasks: 8, rollouts: 4 };

/** Creating a codec takes longer than most tests. */
const ownCodec = createCodec();

export class MemoryLog {
  readonly codec: Codec;
  readonly namespace: string;
  readonly offsets: GroupOffsets;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #batchRecords: number;
  readonly #partitions = new Map<EventTopic, MemoryPartition[]>();
  readonly #groups = new Map<string, MemoryGroup>();
  readonly #epochs = new Map<string, number>();
  readonly #faults: { point: FaultPoint; error: Error }[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #idle = new Set<() => boolean>();

  constructor(options: MemoryLogOptions = {}) {
    this.codec = options.codec ?? ownCodec;
    this.namespace = options.namespace ?? 'memory';
    this.#clock = options.clock ?? Date;
    this.#batchRecords = options.batchRecords ?? 500;
    for (const topic of topics) {
      const count = options.partitions?.[topic] ?? defaultPartitions[topic] ?? 1;
      this.#partitions.set(
        topic,
        Array.from({ length: count }, (_, partition) => ({ topic, partition, first: 0, leaderEpoch: 0, slots: [] })),
      );
    }
    this.offsets = {
      fetch: async (group, topic) =>
        this.partitionsOf(topic).map(({ partition }) => ({
          partition,
          ...(this.groupOf(group).committed(topic, partition) ?? { offset: -1, metadata: '' }),
        })),
    };
  }

  writer(): EventWriter {
    return {
      append: async (events) => {
        const messages = this.#encode(events);
        this.takeFault('append');
        return messages.map((message) => this.#put(message));
      },
      close: async () => undefined,
    };
  }

  /** A later call with the same id fences the writers before it. */
  async transactional(transactionalId: string): Promise<TransactionalWriter> {
    const epoch = (this.#epochs.get(transactionalId) ?? 0) + 1;
    this.#epochs.set(transactionalId, epoch);
    return {
      commit: async ({ events, offsets }) => {
        const messages = this.#encode(events);
        if (this.#epochs.get(transactionalId) !== epoch) {
          throw new PlatformError('PRODUCER_FENCED', `committing a transaction of ${transactionalId}: another writer took over`);
        }
        this.takeFault('commit');
        const appended = messages.map((message) => this.#put(message));
        this.#mark(appended);
        if (offsets !== undefined) this.setOffsets(offsets.group, offsets.positions);
        this.takeFault('commit_answer');
        return appended;
      },
      close: async () => undefined,
    };
  }

  reader(): LogReader {
    return {
      bounds: async (topic) =>
        this.partitionsOf(topic).map((log) => ({ partition: log.partition, first: log.first, end: log.slots.length })),
      readToEnd: async (topic, { from, to, signal, onBatch, onSkipped }) => {
        const ends = this.partitionsOf(topic).map((log) =>
          Math.min(log.slots.length, to === undefined ? Infinity : (to.get(log.partition) ?? 0)),
        );
        for (const [index, log] of this.partitionsOf(topic).entries()) {
          let offset = from?.get(log.partition) ?? log.first;
          for (let batch = this.batchAt(log, offset, ends[index]); batch !== undefined; batch = this.batchAt(log, offset, ends[index])) {
            signal?.throwIfAborted();
            if (offset < log.first) onSkipped?.({ topic, partition: log.partition, from: offset, to: log.first });
            await onBatch(batch);
            offset = batch.nextOffset;
          }
        }
        signal?.throwIfAborted();
      },
      follow: async (options) => followMemory(this, options),
    };
  }

  group(): GroupConsumer {
    let leave: (() => Promise<void>) | undefined;
    const paused = new Set<EventTopic>();
    return {
      start: async (options) => {
        leave = await this.groupOf(options.group).join({ ...options, paused });
      },
      pause: (names) => {
        for (const name of names) paused.add(name);
      },
      resume: (names) => {
        for (const name of names) paused.delete(name);
        this.changed();
      },
      close: async () => leave?.(),
    };
  }

  /** Appends exactly these bytes. */
  appendRaw(topic: EventTopic, records: readonly RawRecord[]): readonly Appended[] {
    return records.map((record) => this.#put({ topic, ...record }));
  }

  /** Writes records of an aborted transaction and its marker: offsets without readable records. */
  appendAborted(topic: EventTopic, partition: number, records: number): void {
    for (let count = 0; count <= records; count += 1) this.partitionsOf(topic)[partition]?.slots.push({ visible: false });
    this.changed();
  }

  /** Deletes the records before `first`, as retention does. */
  deleteBefore(topic: EventTopic, partition: number, first: number): void {
    const log = this.partitionsOf(topic)[partition];
    if (log !== undefined) log.first = Math.max(log.first, first);
  }

  /** Cuts the tail off, as an unclean election does: its offsets are used again, by another leader. */
  cutTail(topic: EventTopic, partition: number, end: number): void {
    this.partitionsOf(topic)[partition]?.slots.splice(end);
    this.elect(topic, partition);
  }

  /** Another broker leads the partition, as after a restart. */
  elect(topic: EventTopic, partition: number): void {
    const log = this.partitionsOf(topic)[partition];
    if (log !== undefined) log.leaderEpoch += 1;
    this.changed();
  }

  /** Forgets what a group has committed. */
  forgetOffsets(group: string): void {
    this.groupOf(group).forget();
  }

  setOffsets(group: string, positions: readonly (Position & { readonly metadata?: string })[]): void {
    for (const position of positions) this.groupOf(group).setCommitted(position);
  }

  /** Every readable record of a topic, by partition and offset. */
  records(topic: EventTopic): readonly LogRecord[] {
    return this.partitionsOf(topic).flatMap((log) => log.slots.slice(log.first).flatMap((slot) => (slot.visible ? [slot.record] : [])));
  }

  /** The next operation that reaches this point fails with the error. */
  failNext(point: FaultPoint, error: Error = new PlatformError('KAFKA_UNAVAILABLE', `failing at ${point}, as the test asked`)): void {
    this.#faults.push({ point, error });
  }

  /** Ends the membership of every member of the group at once, as when their sessions time out; they join again afterwards. */
  expireMembers(group: string): void {
    this.groupOf(group).expireMembers();
  }

  /** Resolves when every reader and every member has read all that there is and no handler runs. */
  async idle(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if ([...this.#idle].every((idle) => idle())) return;
    }
  }

  takeFault(point: FaultPoint): void {
    const index = this.#faults.findIndex((fault) => fault.point === point);
    const [fault] = index < 0 ? [] : this.#faults.splice(index, 1);
    if (fault !== undefined) throw fault.error;
  }

  partitionsOf(topic: EventTopic): MemoryPartition[] {
    return this.#partitions.get(topic) ?? [];
  }

  groupOf(name: string): MemoryGroup {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const group = new MemoryGroup(name, this);
    this.#groups.set(name, group);
    return group;
  }

  /** The batch that starts at `offset`; undefined when there is nothing there. Markers and aborted records are counted but not in it. */
  batchAt(log: MemoryPartition, offset: number, end = log.slots.length): LogBatch | undefined {
    const start = Math.max(offset, log.first);
    if (start >= end) return undefined;
    const nextOffset = Math.min(end, start + this.#batchRecords);
    const records = log.slots.slice(start, nextOffset).flatMap((slot) => (slot.visible ? [slot.record] : []));
    return { topic: log.topic, partition: log.partition, records, nextOffset, endOffset: log.slots.length };
  }

  /** Resolves at the next change of the log, of a group or of a pause. */
  async nextChange(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  changed(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Registers a reader whose idleness `idle` waits for; returns a function that removes it. */
  watch(idle: () => boolean): () => void {
    this.#idle.add(idle);
    return () => this.#idle.delete(idle);
  }

  #encode(events: readonly OutgoingEvent[]) {
    return events.map((event) => messageOf(event, { codec: this.codec, namespace: this.namespace }));
  }

  #put(message: RawRecord & { readonly topic: EventTopic }): Appended {
    const { topic } = message;
    const logs = this.partitionsOf(topic);
    const partition = message.partition ?? (message.key === null ? 0 : partitionOf(message.key, logs.length));
    const log = logs[partition];
    if (log === undefined) throw new RangeError(`${topic} has no partition ${partition}`);
    const offset = log.slots.length;
    const key = typeof message.key === 'string' ? Buffer.from(message.key) : message.key;
    const record = {
      topic,
      partition,
      offset,
      timestampMs: this.#clock.now(),
      key,
      value: message.value,
      headers: headersOf(message.headers),
      leaderEpoch: log.leaderEpoch,
    };
    log.slots.push({ visible: true, record });
    this.changed();
    return { topic, partition, offset };
  }

  #mark(appended: readonly Appended[]): void {
    const touched = new Set(appended.map(({ topic, partition }) => this.partitionsOf(topic)[partition]));
    for (const log of touched) log?.slots.push({ visible: false });
    this.changed();
  }
}

function headersOf(headers: HeaderValues | undefined): Record<string, Buffer> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name, typeof value === 'string' ? Buffer.from(value) : value]),
  );
}
