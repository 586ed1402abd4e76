import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectKafka, type KafkaConnection } from '../../../infra/kafka/connect.ts';
import { topicPlanOf } from '../../../infra/kafka/topics/topics.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { EventStream, type ServerSentEvent } from '../../../infra/testing/event-stream.ts';
import { outgoing } from '../../../infra/testing/events.ts';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { useKafka } from '../../../infra/testing/kafka.ts';
import { silentLogger } from '../../../infra/testing/logger.ts';
import { turn } from '../../../infra/testing/rollout-events.ts';
import { createCodec } from '../../../schemas/codec.ts';

const codec = createCodec();
let kafka: KafkaConnection;
let server: HttpServer;
let url: string;

beforeAll(async () => {
  const { brokers, namespace } = await useKafka();
  kafka = connectKafka({ brokers, namespace, clientId: 'live', codec, logger: silentLogger });
  await kafka.topics.apply(topicPlanOf({ replication: 1, partitionsRollouts: 4, partitionsTasks: 8, retentionHours: -1 }));
  server = await testApi({ store: createFakeStore(), source: { log: kafka.reader(), events: codecReader(codec) } });
  ({ url } = await server.listen());
});

afterAll(async () => {
  await server.close();
  await kafka.close();
});

const ids = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, index) => `t${from + index}.0`);

async function write(trajectories: readonly string[]): Promise<void> {
  const writer = await kafka.writer();
  await writer.append(trajectories.map((trajectory) => outgoing('TurnRecorded', turn({ trajectory, sequence: 1 }, 0))));
}

/** Reads `count` turns of a stream: their trajectories and the last event. */
async function read(stream: EventStream, count: number): Promise<{ readonly seen: string[]; readonly last: ServerSentEvent | undefined }> {
  const seen: string[] = [];
  let last: ServerSentEvent | undefined;
  while (seen.length < count) {
    last = await stream.next();
    if (last?.event !== 'TurnRecorded') break;
    seen.push((last.data['event'] as { trajectory_id: string }).trajectory_id);
  }
  return { seen: seen.sort(), last };
}

it('streams the real log from its end, or from the position of a client, without a gap or a repetition', async () => {
  await write(ids(0, 5));
  const first = await EventStream.open(`${url}/v1/live`);
  expect(await first.next()).toMatchObject({ event: 'connected' });
  await write(ids(5, 25));
  const { seen, last } = await read(first, 20);
  expect(seen).toEqual(ids(5, 25).sort());
  first.close();
  await write(ids(25, 60));
  const second = await EventStream.open(`${url}/v1/live`, { 'last-event-id': last?.id ?? '' });
  expect(await second.next()).toMatchObject({ event: 'connected', id: last?.id });
  await write(ids(60, 80));
  expect((await read(second, 55)).seen).toEqual(ids(25, 80).sort());
  second.close();
});
