// One reader of the log for all live clients. It starts at the end of the log with the first client and closes with the last, so an unused
// stream costs nothing. Clients get whole batches in the order of each partition; each batch is decoded once for all clients. Undecodable
// records are skipped: dead-letters has them. After a Kafka outage the reader continues where it was: clients stay connected and miss
// nothing.
import { publishedSchemas, type EventTopic } from '../../../schemas/generated/events.ts';
import type { EventReader, Following, Logger, LogBatch, LogReader } from '../../../streams/core/ports.ts';
import { liveEventOf, type EncodedEvent } from './message.ts';
import { LivePositions } from './positions.ts';

export const liveTopics: readonly EventTopic[] = [...new Set(publishedSchemas.map(({ topic }) => topic))];

/** A decoded batch and the next offset of its partition. */
export interface LiveBatch {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly events: readonly EncodedEvent[];
}

export interface Listener {
  readonly onBatch: (batch: LiveBatch) => void;
}

export interface Follower {
  /** Resolves with the positions from which every later batch will be delivered. */
  join(listener: Listener): Promise<LivePositions>;
  leave(listener: Listener): Promise<void>;
  close(): Promise<void>;
}

interface FollowerSession {
  readonly positions: LivePositions;
  readonly following: Following;
}

export interface FollowerDeps {
  readonly log: LogReader;
  readonly events: EventReader;
  readonly logger: Logger;
}

/** Decodes a batch and drops undecodable records. */
export async function decodeBatch(events: EventReader, batch: LogBatch): Promise<LiveBatch> {
  const decoded: EncodedEvent[] = [];
  for (const record of batch.records) {
    const read = await events.read(record);
    if (read.ok) decoded.push(liveEventOf(record, read.value));
  }
  const { topic, partition, nextOffset, records } = batch;
  return { topic, partition, nextOffset, firstOffset: records[0]?.offset ?? nextOffset, events: decoded };
}

export function createFollower(deps: FollowerDeps): Follower {
  const listeners = new Set<Listener>();
  let session: Promise<FollowerSession> | undefined;

  async function open(): Promise<FollowerSession> {
    const bounds = await Promise.all(
      liveTopics.map(async (topic) => (await deps.log.bounds(topic)).map(({ partition, end }) => ({ topic, partition, offset: end }))),
    );
    const positions = new LivePositions(bounds.flat());
    const following = await deps.log.follow({
      topics: liveTopics,
      from: positions.all(),
      otherwise: 'end',
      onBatch: async (batch) => {
        const decoded = await decodeBatch(deps.events, batch);
        positions.set({ topic: batch.topic, partition: batch.partition, offset: batch.nextOffset });
        for (const listener of listeners) listener.onBatch(decoded);
      },
      onError: (error) => {
        deps.logger.warn({ err: error }, 'the live stream waits for the log');
      },
    });
    return { positions, following };
  }

  async function stop(): Promise<void> {
    const ending = session;
    session = undefined;
    if (ending === undefined) return;
    try {
      const { following } = await ending;
      await following.close();
    } catch (error) {
      deps.logger.debug({ err: error }, 'a live stream that did not start has nothing to close');
    }
  }

  return {
    async join(listener) {
      session ??= open();
      const mine = session;
      listeners.add(listener);
      try {
        return (await mine).positions.copy();
      } catch (error) {
        listeners.delete(listener);
        if (session === mine) session = undefined;
        throw error;
      }
    },
    async leave(listener) {
      listeners.delete(listener);
      if (listeners.size === 0) await stop();
    },
    close: stop,
  };
}
