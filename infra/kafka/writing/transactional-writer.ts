// The single writer of a run: one Kafka transaction per call.
//
// - Exactly once among writers with the same transactional id: opening a writer fences every earlier one. The next call of a fenced writer
// fails with PRODUCER_FENCED, and its open transaction never becomes visible.
// - PRODUCER_FENCED does not prove that another writer exists: the broker answers the same after it has aborted a transaction that timed
// out, e.g. while this process was frozen. Only the log tells the two cases apart.
// - The outcome of a call that fails with KAFKA_UNAVAILABLE is unknown. The caller opens another writer and reads the log to find out.
// - A writer whose call failed never writes again. It does not reopen its producer by itself: that would fence a writer that rightly took
// over.
// - A crash in the middle leaves an open transaction, which the next writer with the id aborts when it opens. That also erases what Kafka
// knows of a commit whose end it lost, so that end is written first (../transactions/finish.ts).
import type { Kafka } from 'kafkajs';
import { inStep, reachNothing, type ReachPoint } from '../../../streams/core/crash-points.ts';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger, Position, TransactionalWriter } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import type { Compression } from '../records/compression.ts';
import { reconnectMs } from '../backoff.ts';
import { pause, settledWithin } from '../../lifecycle/waiting.ts';
import { isFinal, isProducerFence, kafkaError, protocolType } from '../kafka-error.ts';
import {
  chunksOf,
  createRecordProducer,
  type Outgoing,
  type RecordPlacement,
  type RecordProducer,
  type RecordTransaction,
} from './producer.ts';

/** The broker aborts a dead writer's transaction after this time, unless another writer does so first. */
const TRANSACTION_TIMEOUT_MS = 15_000;
const OPEN_TIMEOUT_MS = 30_000;
const OFFSETS_TIMEOUT_MS = 15_000;
const ABORT_LIMIT_MS = 2_000;

const OFFSETS_AGAIN = new Set([
  'CONCURRENT_TRANSACTIONS',
  'GROUP_LOAD_IN_PROGRESS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
  'UNKNOWN_TOPIC_OR_PARTITION',
]);

export interface RecordTransactionWriter {
  commit(
    records: readonly Outgoing[],
    offsets?: {
      readonly group: string;
      readonly positions: readonly (Omit<Position, 'topic'> & { readonly topic: string; readonly metadata?: string })[];
    },
  ): Promise<readonly RecordPlacement[]>;
  close(): ReturnType<TransactionalWriter['close']>;
}

export interface TransactionalOptions {
  readonly kafka: Kafka;
  readonly transactionalId: string;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly reach?: ReachPoint;
  readonly compression?: Compression;
}

type CommitArguments = Parameters<RecordTransactionWriter['commit']>;
type WriterState = { readonly kind: 'open'; readonly producer: RecordProducer } | { readonly kind: 'over'; readonly error: PlatformError };

/** Fences earlier writers. Throws KAFKA_UNAVAILABLE when no broker answers within 30 s. */
export async function openTransactionalWriter(options: TransactionalOptions): Promise<RecordTransactionWriter> {
  const doing = `committing a transaction of ${options.transactionalId}`;
  const { reach = reachNothing } = options;
  let state: WriterState = { kind: 'open', producer: await openProducer(options) };
  let queue: Promise<unknown> = Promise.resolve();

  async function commit(...work: CommitArguments): Promise<readonly RecordPlacement[]> {
    if (state.kind === 'over') throw state.error;
    const { producer } = state;
    try {
      return await runTransaction(producer, work, reach);
    } catch (cause) {
      const error = errorOf(doing, cause);
      state = { kind: 'over', error };
      options.metrics?.count('kafka_producer_recreated_total', {});
      await settledWithin(2_000, producer.disconnect());
      throw error;
    }
  }

  return {
    commit(...work) {
      const result = queue.then(() => commit(...work));
      queue = result.catch(() => undefined);
      return result;
    },
    async close() {
      await queue;
      if (state.kind === 'open') await settledWithin(5_000, state.producer.disconnect());
      state = { kind: 'over', error: new PlatformError('KAFKA_UNAVAILABLE', `${doing}: the writer is closed`) };
    },
  };
}

function errorOf(doing: string, cause: unknown): PlatformError {
  if (isProducerFence(cause)) return new PlatformError('PRODUCER_FENCED', `${doing}: another writer with this id took over`, { cause });
  if (isFinal(cause)) return kafkaError(doing, cause);
  return new PlatformError('KAFKA_UNAVAILABLE', `${doing}: ${messageOf(cause)}. Whether it happened is not known: read the log`, { cause });
}

async function openProducer(options: TransactionalOptions): Promise<RecordProducer> {
  const deadline = performance.now() + OPEN_TIMEOUT_MS;
  for (let attempt = 0; ; attempt += 1) {
    const transaction = { id: options.transactionalId, timeoutMs: TRANSACTION_TIMEOUT_MS };
    const producer = createRecordProducer(options.kafka, { compression: options.compression, transaction });
    try {
      await producer.connect();
      // kafkajs requests the producer id, which does the fencing, when it begins its first transaction.
      await (await producer.begin()).abort();
      return producer;
    } catch (error) {
      await settledWithin(2_000, producer.disconnect());
      if (isFinal(error) || performance.now() >= deadline)
        throw kafkaError(`opening the transactional writer ${options.transactionalId}`, error);
      if (attempt === 0) options.logger.warn({ error: messageOf(error) }, 'opening a transactional writer failed, trying again');
      await pause(reconnectMs(attempt));
    }
  }
}

async function runTransaction(
  producer: RecordProducer,
  [records, offsets]: CommitArguments,
  reach: ReachPoint,
): Promise<readonly RecordPlacement[]> {
  const transaction = await inStep(reach, 'trainer.commit.begin', () => producer.begin());
  const places: RecordPlacement[] = [];
  try {
    await inStep(reach, 'trainer.commit.produce', async () => {
      for (const chunk of chunksOf(records)) places.push(...(await transaction.send(chunk)));
    });
    if (offsets !== undefined && offsets.positions.length > 0) {
      await inStep(reach, 'trainer.commit.offsets', () => sendOffsets(transaction, offsets));
    }
  } catch (error) {
    // An open transaction blocks readers; without an abort it would stay open until it times out.
    await settledWithin(ABORT_LIMIT_MS, transaction.abort());
    throw error;
  }
  await inStep(reach, 'trainer.commit.end', () => transaction.commit());
  return places;
}

/** kafkajs itself does not retry while the coordinator is busy with the previous transaction. */
async function sendOffsets(transaction: RecordTransaction, offsets: NonNullable<CommitArguments[1]>): Promise<void> {
  const topics = [...new Set(offsets.positions.map(({ topic }) => topic))].map((topic) => ({
    topic,
    partitions: offsets.positions
      .filter((position) => position.topic === topic)
      .map(({ partition, offset, metadata = '' }) => ({ partition, offset: String(offset), metadata })),
  }));
  const deadline = performance.now() + OFFSETS_TIMEOUT_MS;
  for (let waitMs = 3; ; waitMs = Math.min(500, waitMs * 2)) {
    try {
      await transaction.sendOffsets({ consumerGroupId: offsets.group, topics });
      return;
    } catch (error) {
      if (!OFFSETS_AGAIN.has(protocolType(error) ?? '') || performance.now() >= deadline) throw error;
      await pause(waitMs);
    }
  }
}
