// Shared by benches: a broker in a temporary directory, and the cleanup of everything that they start.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCodec, type Codec } from '../../schemas/codec.ts';
import type { Logger } from '../../streams/core/ports.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/descriptors.ts';
import { connectKafka, type KafkaConnection } from '../kafka/connect.ts';
import { startLocalKafka, type LocalKafka } from '../kafka/broker/local.ts';
import { topicPlanOf } from '../kafka/topics/topics.ts';
import { createLogger } from '../telemetry/logger.ts';

export interface BenchSite {
  readonly dataDir: string;
  readonly kafka: LocalKafka;
  readonly brokers: string[];
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** A new connection with its topics created. Closed at the end if still open. `writing` is the codec of its writers. */
  connect(namespace: string, overrides?: Partial<Config>, writing?: Codec): Promise<KafkaConnection>;
  readonly codec: Codec;
  /** Registers cleanup, run in reverse order. */
  defer(end: () => Promise<void>): void;
}

/** The jars of this clone's own `turnstream up`. */
const libsDir = join('.turnstream', 'kafka', 'libs');

export const say = (text: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

/**
 * Runs a bench and cleans up afterwards, also after a failure or Ctrl-C. The bench must watch `signal`. The directory `home` is kept;
 * without it, there is a temporary one.
 */
export async function withSite<T>(work: (site: BenchSite) => Promise<T>, home?: string): Promise<T> {
  const logger = createLogger({ level: 'warn', role: 'bench' });
  const dataDir = home ?? (await mkdtemp(join(tmpdir(), 'turnstream-bench-')));
  const endings: (() => Promise<void>)[] = home === undefined ? [() => rm(dataDir, { recursive: true, force: true })] : [];
  const abort = new AbortController();
  const stop = (): void => {
    if (abort.signal.aborted) process.exit(130);
    abort.abort(new Error('stopped'));
  };
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop);
  try {
    const kafka = await startLocalKafka({ dataDir, libsDir, logger, signal: abort.signal });
    endings.push(() => kafka.stop());
    const codec = createCodec();
    return await work({
      ...{ dataDir, kafka, brokers: kafka.brokers, logger, codec, signal: abort.signal },
      defer: (end) => void endings.push(end),
      async connect(namespace, overrides = {}, writing = codec) {
        const { kafkaCompression: compression = 'lz4' } = overrides;
        const [{ brokers }, clientId] = [kafka, 'turnstream-bench'];
        const connection = connectKafka({ brokers, clientId, namespace, codec: writing, logger, compression });
        endings.push(() => connection.close());
        await connection.topics.apply(topicPlanOf(loadConfig({}, { partitionsRollouts: 8, ...overrides })));
        return connection;
      },
    });
  } finally {
    for (const end of endings.reverse()) {
      await end().catch((error: unknown) => {
        logger.warn({ err: error }, 'ending a part of the bench');
      });
    }
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop);
  }
}
