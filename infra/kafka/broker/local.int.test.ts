import { createServer } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Admin } from 'kafkajs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ownKafka, sharedLibsDir, useKafka } from '../../testing/kafka.ts';
import { createRecordingLogger, silentLogger } from '../../testing/logger.ts';
import { kafkajs } from '../patches/kafkajs.ts';
import { startLocalKafka } from './local.ts';
import { localPaths } from './local-files.ts';
import { describeProcess } from './local-process.ts';
import { readRecord, writeRecord } from './local-record.ts';

describe('local Kafka', () => {
  it('starts, stops cleanly and starts again on the same data and ports', async () => {
    const own = await ownKafka();
    const first = await own.start();
    const clusterFile = join(own.dataDir, 'kafka', 'data', 'meta.properties');
    const before = await readFile(clusterFile, 'utf8');
    await first.stop();
    expect(await first.exited).toBe(143);
    const second = await own.start();
    expect(second.brokers).toEqual(first.brokers);
    expect(second.pid).not.toBe(first.pid);
    expect(await readFile(clusterFile, 'utf8')).toBe(before);
  });

  it('starts again after it was killed', async () => {
    const own = await ownKafka();
    const first = await own.start();
    first.kill();
    expect(await first.exited).toBeNull();
    const second = await own.start();
    expect(second.brokers).toEqual(first.brokers);
  });

  it('chooses other ports when another program has the remembered ones', async () => {
    const own = await ownKafka();
    const first = await own.start();
    await first.stop();
    const port = Number(first.brokers[0]?.split(':')[1]);
    const stranger = createServer();
    await new Promise<void>((resolve) => stranger.listen(port, '127.0.0.1', resolve));
    onTestFinished(() => {
      stranger.close();
    });
    const second = await own.start();
    expect(second.brokers).not.toEqual(first.brokers);
  });

  it('takes over a broker whose owner died, and stops it', async () => {
    const own = await ownKafka();
    const first = await own.start();
    const paths = localPaths(own.dataDir);
    const record = await readRecord(paths);
    await writeRecord(paths, { ...record!, owner: { pid: 2 ** 22 + 1, startedAt: 'long ago' } });
    const second = await own.start();
    expect(second.pid).toBe(first.pid);
    expect(second.owned).toBe(true);
    await second.stop();
    await second.exited;
    await first.exited;
  });

  it('ends a broker that was left behind with another configuration', async () => {
    const own = await ownKafka();
    const first = await own.start();
    const { properties } = localPaths(own.dataDir);
    await writeFile(properties, `${await readFile(properties, 'utf8')}# changed\n`);
    const logger = createRecordingLogger();
    const second = await startLocalKafka({ dataDir: own.dataDir, libsDir: sharedLibsDir, logger });
    onTestFinished(() => second.stop());
    expect(second.pid).not.toBe(first.pid);
    expect(logger.lines.map((line) => line.level)).toContain('warn');
  });

  it('leaves a broker of another living process alone', async () => {
    const own = await ownKafka();
    const first = await own.start();
    const paths = localPaths(own.dataDir);
    const record = await readRecord(paths);
    const parent = { pid: process.ppid, startedAt: (await describeProcess(process.ppid))!.startedAt };
    await writeRecord(paths, { ...record!, owner: parent });
    const second = await own.start();
    expect(second).toMatchObject({ pid: first.pid, owned: false });
    await second.stop();
    second.kill();
    expect(await describeProcess(first.pid)).toBeDefined();
    await writeRecord(paths, record!);
  });

  it('keeps the internal topics of Kafka in small segments, also those that an earlier build created', async () => {
    const own = await ownKafka();
    const first = await own.start();
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: '__consumer_offsets' };
    const connect = (): Admin => new kafkajs.Kafka({ brokers: first.brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
    const segmentBytes = async (admin: Admin): Promise<string | undefined> => {
      const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
      return resources[0]?.configEntries.find(({ configName }) => configName === 'segment.bytes')?.configValue;
    };
    const before = connect();
    await before.createTopics({ topics: [{ topic: 'turns', numPartitions: 1 }] });
    await before.setOffsets({ groupId: 'readers', topic: 'turns', partitions: [{ partition: 0, offset: '0' }] });
    await expect.poll(() => segmentBytes(before)).toBe('1048576');
    const grown = { ...resource, configEntries: [{ name: 'segment.bytes', value: '104857600' }] };
    await before.alterConfigs({ validateOnly: false, resources: [grown] });
    await expect.poll(() => segmentBytes(before)).toBe('104857600');
    await before.disconnect();
    await first.stop();
    await own.start();
    const after = connect();
    onTestFinished(() => after.disconnect());
    await expect.poll(() => segmentBytes(after)).toBe('1048576');
  });

  it('stops on request while it starts', async () => {
    const own = await ownKafka();
    const signal = AbortSignal.timeout(400);
    await expect(startLocalKafka({ dataDir: own.dataDir, libsDir: sharedLibsDir, logger: silentLogger, signal })).rejects.toThrow();
  });

  it('shares one broker among the files of a test run', async () => {
    const [first, second] = [await useKafka(), await useKafka()];
    expect(first.brokers).toEqual(second.brokers);
    expect(first.namespace).not.toBe(second.namespace);
  });
});
