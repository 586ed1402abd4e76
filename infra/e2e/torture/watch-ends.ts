// Keeps a timeline of the log during a torture test.
import { createCodec } from '../../../schemas/codec.ts';
import { connectKafka } from '../../kafka/connect.ts';
import { silentLogger } from '../../testing/logger.ts';
import { createTimeline, type AppendTimeline } from './timeline.ts';
import { pause } from '../../lifecycle/waiting.ts';

const LOOK_MS = 200;
/** A response that takes longer may come from a broker that was frozen after the request, and is ignored, ms. */
const ASK_MS = 5_000;
const watched = ['rollouts', 'training'] as const;
export interface EndsWatch {
  readonly timeline: AppendTimeline;
  close(): Promise<void>;
}

/** Polls until it is closed; times are relative to `beganMs`. Records nothing while the brokers do not respond. */
export function watchEnds(brokers: () => readonly string[], beganMs: number): EndsWatch {
  const timeline = createTimeline();
  const connect = () =>
    connectKafka({ brokers: brokers(), clientId: 'ends', namespace: 'turnstream', codec: createCodec(), logger: silentLogger });
  let connection = connect();
  let closed = false;
  let sinceMs = 0;

  async function look(): Promise<void> {
    const askedMs = Date.now() - beganMs;
    const reader = connection.reader();
    const bounds = Promise.all(watched.map(async (topic) => ({ topic, ends: await reader.bounds(topic) })));
    const found = await Promise.race([bounds.catch(() => undefined), pause(ASK_MS).then(() => undefined)]);
    if (found === undefined) {
      void connection.close().catch(() => undefined);
      connection = connect();
      return;
    }
    const atMs = Date.now() - beganMs;
    for (const { topic, ends } of found) for (const { partition, end } of ends) timeline.look(topic, partition, { sinceMs, atMs, end });
    sinceMs = askedMs;
  }

  async function lookOn(): Promise<void> {
    while (!closed) {
      await look();
      await pause(LOOK_MS);
    }
    await connection.close().catch(() => undefined);
  }

  const looking = lookOn();
  return {
    timeline,
    close() {
      closed = true;
      return looking;
    },
  };
}
