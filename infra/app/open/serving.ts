// Waits until a broker that has just started is usable. It accepts connections before it leads its partitions and has loaded its groups,
// and refuses requests until then.
import { isPlatformError } from '../../../streams/core/errors.ts';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { RUNS_TOPIC, SCHEMAS_TOPIC } from '../../kafka/topics/topics.ts';
import { groupsOf, type LogConnection } from './connections.ts';

const PATIENCE_MS = 30_000;
const LOOK_MS = 100;

/** Resolves when every topic of the namespace is readable and the groups can be queried; rejects after 30 s. */
export async function untilServing(log: LogConnection, namespace: string, signal = new AbortController().signal): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await probe(log, namespace);
      return;
    } catch (error) {
      if (!isPlatformError(error) || !error.retriable || performance.now() > deadline || signal.aborted) throw error;
    }
    await pause(LOOK_MS, signal);
  }
}

async function probe({ kafka }: LogConnection, namespace: string): Promise<void> {
  const all = (await kafka.topics.list()).map(({ topic }) => topic);
  const topics = all.filter((topic) => topic !== SCHEMAS_TOPIC && topic !== RUNS_TOPIC) as EventTopic[];
  const reader = kafka.reader();
  await Promise.all(topics.map((topic) => reader.bounds(topic)));
  const [first] = topics;
  if (first !== undefined) await kafka.offsets.fetch(groupsOf(namespace).warehouse, first);
}
