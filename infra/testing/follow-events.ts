// Scripted readers of the in-memory log, such as workers that answer tasks.
import type { EventByType, EventTopic, EventType, TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { Following, LogRecord } from '../../streams/core/ports.ts';
import { codecReader } from './codec-reader.ts';
import type { MemoryLog } from './memory-log.ts';

const followed: Following[] = [];

/** Ends all readers. Pass it to `afterEach`. */
export async function stopFollowing(): Promise<void> {
  for (const following of followed.splice(0)) await following.close();
}

/** Calls `onEvent` for each event of a type, from the start of the topic until `stopFollowing`. */
export async function followEvents<T extends EventType>(
  log: MemoryLog,
  { topic, type }: { readonly topic: EventTopic; readonly type: T },
  onEvent: (event: EventByType[T], record: LogRecord) => Promise<void>,
): Promise<void> {
  const events = codecReader(log.codec);
  const following = await log.reader().follow({
    topics: [topic],
    from: [],
    otherwise: 'first',
    onError: () => undefined,
    onBatch: async ({ records }) => {
      for (const record of records) {
        const read = events.read(record);
        if (read.ok && read.value.type === type) await onEvent(read.value.event as EventByType[T], record);
      }
    },
  });
  followed.push(following);
}

/** Claims each task of `run-a` like a worker, which commits its offset first, and then calls `onRequest`. */
export async function followTasks(log: MemoryLog, onRequest: (request: TrajectoryRequested) => Promise<unknown>): Promise<void> {
  await followEvents(log, { topic: 'tasks', type: 'TrajectoryRequested' }, async (request, { partition, offset }) => {
    log.setOffsets('workers.run-a', [{ topic: 'tasks', partition, offset: offset + 1 }]);
    await onRequest(request);
  });
}
