import type { EventTopic } from '../../schemas/generated/events.ts';
import type { Following, LogReader } from '../../streams/core/ports.ts';
import type { MemoryLog } from './memory-log.ts';

/** Delivers existing and new records, one batch at a time, until it is closed. */
export function followMemory(log: MemoryLog, options: Parameters<LogReader['follow']>[0]): Following {
  const cursors = options.topics.flatMap((topic) =>
    log.partitionsOf(topic).map((partition) => {
      const given = options.from.find((position) => position.topic === topic && position.partition === partition.partition);
      return { slots: partition, offset: given?.offset ?? (options.otherwise === 'first' ? partition.first : partition.slots.length) };
    }),
  );
  const paused = new Set<EventTopic>();
  let closed = false;
  let busy = false;
  const next = () => cursors.find(({ slots, offset }) => !paused.has(slots.topic) && log.batchAt(slots, offset) !== undefined);
  const forget = log.watch(() => closed || (!busy && next() === undefined));
  const pump = async (): Promise<void> => {
    while (!closed) {
      const cursor = next();
      const batch = cursor === undefined ? undefined : log.batchAt(cursor.slots, cursor.offset);
      if (cursor === undefined || batch === undefined) {
        await log.nextChange();
        continue;
      }
      busy = true;
      const { topic, partition, first } = cursor.slots;
      if (cursor.offset < first) options.onSkipped?.({ topic, partition, from: cursor.offset, to: first });
      try {
        await options.onBatch(batch);
        cursor.offset = batch.nextOffset;
      } catch (error) {
        options.onError(error);
      } finally {
        busy = false;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const pumping = pump();
  return {
    pause: (names) => {
      for (const name of names) paused.add(name);
    },
    resume: (names) => {
      for (const name of names) paused.delete(name);
      log.changed();
    },
    close: async () => {
      closed = true;
      forget();
      log.changed();
      if (!busy) await pumping;
    },
  };
}
