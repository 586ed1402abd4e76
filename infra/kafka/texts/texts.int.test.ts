import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import type { LogRecord, OutgoingEvent } from '../../../streams/core/ports.ts';
import { useKafka, type TestKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { turn } from '../../testing/rollout-events.ts';
import { connectKafka, type ConnectOptions, type KafkaConnection } from '../connect.ts';
import { TEXT_HEADER } from '../records/text-reference.ts';
import { topicPlanOf } from '../topics/topics.ts';

const codec = createCodec();
let server: TestKafka;
let kafka: KafkaConnection;

function connect(options: Partial<ConnectOptions>): KafkaConnection {
  return connectKafka({ ...server, clientId: 'texts', codec, logger: silentLogger, ...options });
}

beforeAll(async () => {
  server = await useKafka();
  kafka = connect({ sharedTextBytes: 1_000_000 });
  await kafka.topics.apply(topicPlanOf({ replication: 1, partitionsRollouts: 1, partitionsTasks: 1, retentionHours: -1 }));
});
afterAll(() => kafka.close());

const page = (name: string): string => Array.from({ length: 400 }, (_, line) => `${name}: line ${line * 7919} of the page`).join('\n');

const turns = (results: readonly string[], trajectory: string): OutgoingEvent[] =>
  results.map((result, sequence) => ({ type: 'TurnRecorded', key: 'g', event: turn({ trajectory, sequence }, 0, { result }) }));

const resultOf = (record: LogRecord): string => {
  const read = codec.decode(record.value ?? Buffer.alloc(0));
  return read.ok && read.value.type === 'TurnRecorded' ? read.value.event.result : 'undecodable';
};

async function readAll(connection: KafkaConnection): Promise<LogRecord[]> {
  const found: LogRecord[] = [];
  await connection.reader().readToEnd('rollouts', { onBatch: ({ records }) => void found.push(...records) });
  return found;
}

/** Size of a topic's records on the disk of the broker, bytes. */
function bytesOnDisk(topic: string): number {
  const folder = join(inject('kafkaDataDir'), 'kafka', 'data', `${server.namespace}.${topic}-0`);
  const logs = readdirSync(folder).filter((file) => file.endsWith('.log'));
  return logs.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

describe('what is written to Kafka', () => {
  it('is compressed, and read back as it was', async () => {
    const results = Array.from({ length: 20 }, (_, index) => page(`page ${index}`));
    await (await kafka.writer()).append(turns(results, 'run-a/g0.0'));
    expect((await readAll(kafka)).map(resultOf)).toEqual(results);
    const written = results.join('').length;
    expect(bytesOnDisk('rollouts')).toBeLessThan(written / 2);
    const plain = connect({ compression: 'none' });
    onTestFinished(() => plain.close());
    const before = bytesOnDisk('rollouts');
    await (await plain.writer()).append(turns(results, 'run-a/g0.1'));
    expect(bytesOnDisk('rollouts') - before).toBeGreaterThan(written);
  });

  it('contains a repeated text once, and readers restore it in every turn', async () => {
    const before = (await readAll(kafka)).length;
    const shared = page('shared');
    const results = Array.from({ length: 30 }, () => shared);
    const writer = await kafka.writer();
    // In batches and singly, without waiting: the log keeps the order of the calls.
    const own = turns([...results, 'short', page('once')], 'run-a/g1.0');
    const bytes = bytesOnDisk('rollouts');
    await Promise.all([own.slice(0, 10), ...own.slice(10).map((event) => [event])].map((events) => writer.append(events)));
    expect(bytesOnDisk('rollouts') - bytes).toBeLessThan(4 * shared.length);

    const late = connect({});
    onTestFinished(() => late.close());
    const expected = [...results, 'short', page('once')];
    const read = (await readAll(late)).slice(before);
    expect(read.map(resultOf)).toEqual(expected);
    expect(read.some(({ headers }) => TEXT_HEADER in headers)).toBe(false);

    const apart: LogRecord[] = [];
    await late.reader({ textsApart: true }).readToEnd('rollouts', { onBatch: ({ records }) => void apart.push(...records) });
    expect(apart.slice(before).map(resultOf)).toEqual([...results.map(() => ''), 'short', page('once')]);
    expect(apart.slice(before).map(({ textApart }) => textApart?.toString())).toEqual([...results, undefined, undefined]);

    const bare = connect({ wholeTurns: false });
    onTestFinished(() => bare.close());
    const unfilled = (await readAll(bare)).slice(before);
    expect(unfilled.filter(({ headers }) => TEXT_HEADER in headers)).toHaveLength(results.length);
    expect(unfilled.map(resultOf)).toEqual([...results.map(() => ''), 'short', page('once')]);

    const member = late.group();
    onTestFinished(() => member.close());
    const grouped: LogRecord[] = [];
    await member.start({
      group: `${server.namespace}.texts`,
      topics: ['rollouts'],
      onAssigned: () => Promise.resolve([{ topic: 'rollouts', partition: 0, offset: before }]),
      onBatch: async ({ records }) => void grouped.push(...records),
      onError: (error) => {
        throw error as Error;
      },
    });
    await expect.poll(() => grouped.map(resultOf)).toEqual(expected);
  });

  it('contains no text twice after a restart of its writer', async () => {
    const other = connect({ sharedTextBytes: 1_000_000 });
    onTestFinished(() => other.close());
    const [before] = await kafka.raw('texts').bounds();
    await (await other.writer()).append(turns([page('shared')], 'run-a/g2.0'));
    expect(await kafka.raw('texts').bounds()).toEqual([before]);
    const last = (await readAll(kafka)).at(-1);
    expect(last === undefined ? '' : resultOf(last)).toBe(page('shared'));
  });
});
