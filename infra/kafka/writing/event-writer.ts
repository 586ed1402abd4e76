// Encodes events to records and returns where they were written. record-writer.ts and transactional-writer.ts describe the guarantees.
import type { Codec } from '../../../schemas/codec.ts';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Appended, EventWriter, OutgoingEvent, TransactionalWriter } from '../../../streams/core/ports.ts';
import { settledWithin } from '../../lifecycle/waiting.ts';
import { MAX_RECORD_BYTES, messageOf, recordBytes, type OutgoingMessage, type RawRecord } from '../records/message.ts';
import type { TopicNames } from '../names.ts';
import type { Outgoing, RecordPlacement } from './producer.ts';
import type { RecordWriter } from './record-writer.ts';
import type { TextWriter } from '../texts/text-writer.ts';
import type { RecordTransactionWriter } from './transactional-writer.ts';

const CLOSE_GRACE_MS = 10_000;

export interface EventContext {
  readonly codec: Codec;
  readonly namespace: string;
  readonly names: TopicNames;
}

/** With a text writer, repeated texts are left out of turns. */
export function createEventWriter(records: RecordWriter, context: EventContext, texts?: TextWriter): EventWriter {
  const pending = new Set<Promise<unknown>>();
  let closed = false;
  /** Appends that wait for their texts, one after the other; undefined when there are none. */
  let queue: Promise<unknown> | undefined;

  const send = (messages: readonly OutgoingMessage[]) => ({ messages, places: records.append(outgoing(messages, context.names)) });

  /** Keeps the order of calls, even when some wait for their texts and later ones do not. */
  async function append(events: readonly OutgoingEvent[]): Promise<readonly Appended[]> {
    const sent =
      queue === undefined && texts?.concerns(events) !== true
        ? send(events.map((event) => messageOf(event, context)))
        : await queued(async () => send((await texts?.messagesOf(events, context)) ?? []));
    return withTopics(sent.messages, await sent.places);
  }

  async function queued<T>(work: () => Promise<T>): Promise<T> {
    const result = (queue ?? Promise.resolve()).then(work);
    const settled = result.catch(() => undefined);
    queue = settled;
    try {
      return await result;
    } finally {
      if (queue === settled) queue = undefined;
    }
  }

  return {
    async append(events) {
      if (closed) throw new PlatformError('KAFKA_UNAVAILABLE', 'appending to the log: the writer is closed');
      const work = append(events);
      pending.add(work);
      try {
        return await work;
      } finally {
        pending.delete(work);
      }
    },
    async close() {
      closed = true;
      await settledWithin(CLOSE_GRACE_MS, Promise.allSettled([...pending]));
    },
  };
}

export function createTransactionalEventWriter(writer: RecordTransactionWriter, context: EventContext): TransactionalWriter {
  const { names } = context;
  return {
    async commit({ events, offsets }) {
      const messages = events.map((event) => messageOf(event, context));
      const positions = offsets?.positions.map((position) => ({ ...position, topic: names.full(position.topic) }));
      const input = offsets === undefined || positions === undefined ? undefined : { group: offsets.group, positions };
      return withTopics(messages, await writer.commit(outgoing(messages, names), input));
    },
    close: () => writer.close(),
  };
}

/** Commits raw records and events, all in one transaction per call. */
export interface MixedTransactionalWriter {
  /** Throws PRODUCER_FENCED when another writer took over; then nothing from the call is visible. */
  commit(work: {
    readonly records: readonly (RawRecord & { readonly topic: EventTopic })[];
    readonly events: readonly OutgoingEvent[];
  }): Promise<void>;
  close(): Promise<void>;
}

export function createMixedTransactionalWriter(writer: RecordTransactionWriter, context: EventContext): MixedTransactionalWriter {
  const { names } = context;
  return {
    async commit({ records, events }) {
      const messages = events.map((event) => messageOf(event, context));
      const raw = records.map((record) => outgoingRaw(names.full(record.topic), record));
      await writer.commit([...raw, ...outgoing(messages, names)]);
    },
    close: () => writer.close(),
  };
}

const outgoing = (messages: readonly OutgoingMessage[], names: TopicNames): Outgoing[] =>
  messages.map((message) => ({ ...message, topic: names.full(message.topic) }));

function withTopics(messages: readonly OutgoingMessage[], places: readonly RecordPlacement[]): readonly Appended[] {
  return messages.map(({ topic }, index) => {
    const place = places[index];
    if (place === undefined) throw new RangeError(`no place was answered for record ${index} of ${messages.length}`);
    return { topic, partition: place.partition, offset: place.offset };
  });
}

/** A raw record for a topic by its full name. Throws RECORD_TOO_LARGE. */
export function outgoingRaw(topic: string, record: RawRecord): Outgoing {
  const bytes = recordBytes(record);
  if (bytes > MAX_RECORD_BYTES) {
    throw new PlatformError('RECORD_TOO_LARGE', `appending a record to ${topic}: ${bytes} bytes, ${MAX_RECORD_BYTES} at most`);
  }
  const { key, value, headers = {}, partition } = record;
  return { topic, key, value, headers, bytes, ...(partition === undefined ? {} : { partition }) };
}
