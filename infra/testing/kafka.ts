// A real broker for integration tests (`*.int.test.ts`).
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { startLocalKafka, type LocalKafka } from '../kafka/broker/local.ts';
import { silentLogger } from './logger.ts';

/** The jars are shared by all tests and by `turnstream up` of this clone. */
export const sharedLibsDir = join(process.cwd(), '.turnstream', 'kafka', 'libs');

export interface TestKafka {
  readonly brokers: string[];
  /** Random: the topics and groups of this test file are its own. */
  readonly namespace: string;
}

export const randomNamespace = (): string => `test-${randomBytes(6).toString('hex')}`;

/** The broker that all test files of this run share. Call it in `beforeAll`; never stop or kill it. */
export async function useKafka(): Promise<TestKafka> {
  const { brokers } = await startLocalKafka({ dataDir: inject('kafkaDataDir'), libsDir: sharedLibsDir, logger: silentLogger });
  return { brokers, namespace: randomNamespace() };
}

export interface OwnKafka {
  readonly dataDir: string;
  /** Starts or restarts it on the same data and, if they are free, the same ports. */
  start(): Promise<LocalKafka>;
}

/** A broker for one test, which may stop, kill and restart it; it is removed with its data when the test ends. */
export async function ownKafka(): Promise<OwnKafka> {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnstream-own-'));
  const started: LocalKafka[] = [];
  onTestFinished(async () => {
    for (const kafka of started) await kafka.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return {
    dataDir,
    async start() {
      const kafka = await startLocalKafka({ dataDir, libsDir: sharedLibsDir, logger: silentLogger });
      started.push(kafka);
      return kafka;
    },
  };
}
