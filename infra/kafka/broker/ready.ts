import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { kafkajs } from '../patches/kafkajs.ts';

/** Sends one metadata request; true when the response lists at least one broker and a controller. */
async function answersMetadata(brokers: readonly string[]): Promise<boolean> {
  const kafka = new kafkajs.Kafka({
    clientId: 'turnstream-probe',
    brokers: [...brokers],
    logLevel: kafkajs.logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 2_000,
    retry: { retries: 0 },
  });
  const admin = kafka.admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    return cluster.brokers.length > 0 && cluster.controller !== null;
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

/** Resolves when the brokers answer a metadata request, rejects with KAFKA_UNAVAILABLE after `timeoutMs` or the signal's reason. */
export async function waitUntilReady(brokers: readonly string[], options: { timeoutMs: number; signal?: AbortSignal }): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  let last: unknown;
  while (performance.now() < deadline) {
    options.signal?.throwIfAborted();
    try {
      if (await answersMetadata(brokers)) return;
    } catch (error) {
      last = error;
    }
    await pause(50);
  }
  throw new PlatformError(
    'KAFKA_UNAVAILABLE',
    `waiting for Kafka at ${brokers.join(', ')}: no answer within ${Math.round(options.timeoutMs / 1000)} s (${messageOf(last)})`,
    { cause: last },
  );
}
