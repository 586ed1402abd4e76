// Transactions whose end the broker has decided, but lost: in Kafka 4.3, a broker that is killed right after it has acknowledged a commit
// may never write the markers (kafka/transactions/finish.ts). Here they are removed from the files of a killed broker.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { localPaths } from '../kafka/broker/local-files.ts';
import { startLocalKafka, type LocalKafka } from '../kafka/broker/local.ts';
import { waitUntilReady } from '../kafka/broker/ready.ts';
import { connectKafka, type KafkaConnection } from '../kafka/connect.ts';
import { createClient } from '../kafka/options.ts';
import { clusterFactoryOf } from '../kafka/patches/cluster.ts';
import { topicPlanOf } from '../kafka/topics/topics.ts';
import { describeTransaction } from '../kafka/transactions/requests.ts';
import { ownKafka, randomNamespace, sharedLibsDir } from '../testing/kafka.ts';
import { expired, heartbeat, idsOf } from '../testing/log/log-under-test.ts';
import { createRecordingLogger, silentLogger } from '../testing/logger.ts';
import { cutMarker } from './torture/tail.ts';

const ID = 'turnstream.trainer.test';
const GROUP = 'turnstream.workers.test';

const plan = topicPlanOf({ replication: 1, partitionsRollouts: 4, partitionsTasks: 1, retentionHours: -1 });
const events = [...[0, 1, 2].map((index) => expired(`e-${index}`, index)), ...[0, 1, 2].map((index) => heartbeat(`beat-${index}`))];

interface Connected {
  readonly kafka: KafkaConnection;
  readonly logger: ReturnType<typeof createRecordingLogger>;
}

function connect(brokers: readonly string[], namespace: string): Connected {
  const logger = createRecordingLogger();
  const kafka = connectKafka({ brokers, namespace, clientId: 'test', codec: createCodec(), logger });
  onTestFinished(() => kafka.close());
  return { kafka, logger };
}

const outcomesIn = ({ lines }: Connected['logger']): unknown[] =>
  lines.flatMap(({ fields }) => (fields['outcome'] === undefined ? [] : [fields['outcome']]));

async function stateOf(brokers: readonly string[]): Promise<string | undefined> {
  const cluster = clusterFactoryOf(createClient({ brokers, clientId: 'test', logger: silentLogger })).create({});
  try {
    await cluster.connect();
    const coordinator = await cluster.findGroupCoordinator({ groupId: ID, coordinatorType: 1 });
    return (await describeTransaction(coordinator, ID))?.state;
  } finally {
    await cluster.disconnect();
  }
}

/** Commits events and an offset, kills the broker, and removes the markers. */
async function commitWithoutEnd(broker: LocalKafka, dataDir: string, namespace: string): Promise<void> {
  const { kafka } = connect(broker.brokers, namespace);
  await kafka.topics.apply(plan);
  await kafka.offsets.set(GROUP, [{ topic: 'questions', partition: 0, offset: 0 }]);
  const writer = await kafka.transactional(ID);
  await writer.commit({ events, offsets: { group: GROUP, positions: [{ topic: 'questions', partition: 0, offset: 7 }] } });
  await expect.poll(() => stateOf(broker.brokers)).toBe('CompleteCommit');
  broker.kill();
  await broker.exited;
  const { data } = localPaths(dataDir);
  const cut = readdirSync(data).filter((name) => /^(__consumer_offsets|test-.*)-\d+$/.test(name) && cutMarker(join(data, name)));
  expect(cut).toEqual(
    expect.arrayContaining([`${namespace}.training-0`, expect.stringContaining('rollouts'), expect.stringContaining('__')]),
  );
}

async function expectCommitted({ kafka }: Connected): Promise<void> {
  const read: string[] = [];
  for (const topic of ['training', 'rollouts'] as const) {
    const signal = AbortSignal.timeout(20_000);
    await kafka.reader().readToEnd(topic, { onBatch: (batch) => void read.push(...idsOf([batch])), signal });
  }
  expect(read.toSorted()).toEqual(events.map(({ event }) => event.event_id).toSorted());
  expect(await kafka.offsets.fetch(GROUP, 'questions')).toMatchObject([{ partition: 0, offset: 7 }]);
}

describe('a commit whose end the broker lost', () => {
  it('is ended when the local broker starts again', async () => {
    const own = await ownKafka();
    const namespace = randomNamespace();
    await commitWithoutEnd(await own.start(), own.dataDir, namespace);
    const logger = createRecordingLogger();
    const broker = await startLocalKafka({ dataDir: own.dataDir, libsDir: sharedLibsDir, logger });
    onTestFinished(() => broker.stop());
    expect(outcomesIn(logger)).toEqual(['committed']);
    await expectCommitted(connect(broker.brokers, namespace));
  });

  it.runIf(process.platform === 'linux')('is ended by the next writer, on a broker that turnstream does not start', async () => {
    const own = await ownKafka();
    const namespace = randomNamespace();
    const broker = await own.start();
    const [command = '', ...args] = (await readFile(`/proc/${broker.pid}/cmdline`, 'utf8')).split('\0').slice(0, -1);
    await commitWithoutEnd(broker, own.dataDir, namespace);
    const bare = spawn(command, args, { stdio: 'ignore' });
    onTestFinished(async () => {
      bare.kill('SIGKILL');
      await once(bare, 'exit');
    });
    await waitUntilReady(broker.brokers, { timeoutMs: 60_000 });
    const connected = connect(broker.brokers, namespace);
    await connected.kafka.transactional(ID);
    expect(outcomesIn(connected.logger)).toEqual(['committed']);
    await expectCommitted(connected);
  });
});
