// Reads the log without a permanent consumer group. kafkajs reads only as a group member, so each read joins a group of its own with a
// random name, which commits nothing and ends with the read; positions are kept here and set at every join.
//
// - Only committed records are delivered; an open transaction blocks a read until it is committed or aborted.
// - When a handler fails, a follower gets the batch again, and a read to the end fails. Otherwise a read gets each record once, in order.
// - A position that retention has deleted becomes the first available one, and the range in between is reported (skipped.ts).
// - A position beyond the end of a partition, whose newest records are gone, becomes that end. A reader with state from lost records must
// detect that by itself: the next record has another leader epoch.
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { isPlatformError } from '../../../streams/core/errors.ts';
import type { Following, LogReader } from '../../../streams/core/ports.ts';
import { reconnectMs } from '../backoff.ts';
import { pause } from '../../lifecycle/waiting.ts';
import type { TopicNames } from '../names.ts';
import { type PartitionOffsets, fetchBounds } from './bounds.ts';
import { type LogReaderOptions, PositionedRead } from './positioned-read.ts';
import { BoundedRead, endingError } from './bounded-read.ts';

/** Also reads topics whose records are not events, by short name. */
export interface RawLogReader extends LogReader {
  readonly rawBounds: (topic: string) => Promise<readonly PartitionOffsets[]>;
  readRawToEnd(topic: string, options: Parameters<LogReader['readToEnd']>[1]): Promise<void>;
}

export function createLogReader(options: LogReaderOptions): RawLogReader {
  const bounds = (topic: string): Promise<readonly PartitionOffsets[]> => fetchBounds(options, topic);

  async function readToEnd(topic: string, read: Parameters<LogReader['readToEnd']>[1]): Promise<void> {
    const { from, to, signal, onBatch, onSkipped } = read;
    signal?.throwIfAborted();
    const all = await bounds(topic);
    signal?.throwIfAborted();
    const ranges = all.map(({ partition, first, end }) => {
      const until = to === undefined ? end : Math.min(end, to.get(partition) ?? first);
      const asked = from?.get(partition) ?? first;
      const skippedTo = Math.min(first, to?.get(partition) ?? first);
      if (asked < skippedTo) options.tellSkipped({ topic: topic as EventTopic, partition, from: asked, to: skippedTo }, onSkipped);
      return { partition, end: until, start: Math.max(first, asked) };
    });
    if (ranges.some(({ start, end }) => start < end)) {
      await new BoundedRead(options, { topic: topic as EventTopic, ranges, signal, onBatch, onSkipped }).run();
    }
  }

  return {
    bounds,
    rawBounds: bounds,
    readToEnd,
    readRawToEnd: readToEnd,
    async follow(follow) {
      const start = await startingPositions(options, follow);
      const reading = new PositionedRead(options, {
        topics: follow.topics,
        start,
        onBatch: follow.onBatch,
        onSkipped: follow.onSkipped,
        onEnded: (ending) => {
          follow.onError(endingError(ending));
        },
      });
      await reading.loop.start();
      return followingOf(options.names, reading);
    },
  };
}

/** Retries through an outage and reports each failure, until there is an answer or the connection closes. */
async function startingPositions(
  options: LogReaderOptions,
  follow: Parameters<LogReader['follow']>[0],
): Promise<ReadonlyMap<string, number>> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await askForPositions(options, follow);
    } catch (error) {
      if (options.closing.aborted || !isPlatformError(error) || !error.retriable) throw error;
      follow.onError(error);
    }
    await pause(reconnectMs(attempt), options.closing);
  }
}

async function askForPositions(
  options: LogReaderOptions,
  follow: Parameters<LogReader['follow']>[0],
): Promise<ReadonlyMap<string, number>> {
  const start = new Map<string, number>();
  for (const topic of follow.topics) {
    for (const { partition, first, end } of await fetchBounds(options, topic)) {
      const given = follow.from.find((position) => position.topic === topic && position.partition === partition)?.offset;
      if (given !== undefined && given < first) {
        options.tellSkipped({ topic, partition, from: given, to: first }, follow.onSkipped);
      }
      start.set(`${topic}/${partition}`, Math.max(first, given ?? (follow.otherwise === 'first' ? first : end)));
    }
  }
  return start;
}

function followingOf(names: TopicNames, reading: PositionedRead): Following {
  return {
    pause(topics) {
      for (const topic of topics) reading.loop.pause(names.full(topic));
    },
    resume(topics) {
      for (const topic of topics) reading.loop.resume(names.full(topic));
    },
    close: () => reading.close(),
  };
}
