// The one place that loads kafkajs, because some of its modules are replaced as it loads: the decoder of fetched records, by
// record-batches.ts, the encoder of a record, by record-encoder.ts, what sends records to several brokers, by
// send-messages.ts, a connection, by connection.ts, the requests that wait for it, by request-queue.ts, the loop of a
// consumer, by one that ends, and a member of a group, by one that never moves its position in silence and sends heartbeats
// whatever the clock of the machine says. kafkajs offers no way in for them, and its version is pinned; a version without
// these modules is refused at once, since it would read or write differently and silently.
import { createRequire } from 'node:module';
import type * as types from 'kafkajs';
import { compressLz4, decompress } from '../records/compression.ts';
import { connectionOf, type ConnectionClass } from './connection.ts';
import { decodeRecordBatches, type FetchedRecord } from '../records/record-batches.ts';
import { encodeRecord } from '../records/record-encoder.ts';
import { requestQueueOf, type RequestQueueClass } from './request-queue.ts';
import { createSendMessages } from './send-messages.ts';

const require = createRequire(import.meta.url);

/** What kafkajs hands to the decoder: a position in a response. */
interface ResponseDecoder {
  readInt32(): number;
  canReadBytes(length: number): boolean;
  readBytes(length: number): Buffer;
}

const MAGIC_AT = 16;
const MAGIC = 2;
const mark = Symbol.for('turnstream.kafkajs');

async function decodeMessages(decoder: ResponseDecoder): Promise<FetchedRecord[]> {
  const size = decoder.readInt32();
  if (size <= 0 || !decoder.canReadBytes(size)) return [];
  const bytes = decoder.readBytes(size);
  if (bytes.length > MAGIC_AT && bytes[MAGIC_AT] !== MAGIC)
    throw new RangeError(`message format ${bytes[MAGIC_AT] ?? 0} is older than Kafka 0.11`);
  return decodeRecordBatches(bytes);
}

/** The loop of a consumer of kafkajs, as far as it is touched here. */
interface Runner {
  readonly running: boolean;
  readonly fetchManager: { stop(): Promise<void> };
  fetch(nodeId: string): Promise<unknown>;
}

type RunnerClass = new (...options: never[]) => Runner;

/**
 * Fetchers that were made anew for other brokers while their consumer was stopping ask for ever, without a pause in which
 * anything else of the process could run. Here they are stopped, too.
 */
const runnerOf = (Original: RunnerClass): RunnerClass =>
  class extends Original {
    override async fetch(nodeId: string): Promise<unknown> {
      if (this.running) return super.fetch(nodeId);
      void this.fetchManager.stop();
      await new Promise((resolve) => setImmediate(resolve));
      return [];
    }
  };

/** The membership of a consumer of kafkajs, as far as it is touched here. */
interface Membership {
  lastRequest: number;
}

type MembershipClass = new (...options: never[]) => Membership;

/**
 * kafkajs sends a heartbeat when the clock of the machine says that it is time to. When that clock was set back by an hour
 * it would send none for an hour, and its member would be put out of the group. Here the last one is as long ago as the
 * monotonic clock says, whatever the other one shows.
 */
export const membershipOf = (Original: MembershipClass): MembershipClass => {
  const requested = new WeakMap<Membership, number>();
  return class extends Original {
    override get lastRequest(): number {
      return Date.now() - (performance.now() - (requested.get(this) ?? 0));
    }
    override set lastRequest(_time: number) {
      requested.set(this, performance.now());
    }
  };
};

/** A position that the log does not have. */
export interface OutOfRange {
  readonly topic: string;
  readonly partition: number;
  /** Of the group. */
  readonly memberId: string;
}

/** Who is to hear of such positions, by group. */
export const outOfRangeListeners = new Map<string, Set<(at: OutOfRange) => void>>();

/** A member of a consumer group of kafkajs, as far as it is touched here. */
interface GroupMember extends Membership {
  readonly groupId: string;
  readonly memberId: string;
  recoverFromOffsetOutOfRange(error: { readonly topic: string; readonly partition: number }): Promise<void>;
}

type GroupMemberClass = new (...options: never[]) => GroupMember;

const OUT_OF_RANGE_PAUSE_MS = 100;

/**
 * kafkajs commits "from the first record" for a position that the log does not have, and says so in its own log alone. A
 * group that wants to know keeps its offset and is told; until it has decided, the position is asked for again.
 */
const groupMemberOf = (Original: GroupMemberClass): GroupMemberClass =>
  class extends Original {
    override async recoverFromOffsetOutOfRange(error: { readonly topic: string; readonly partition: number }): Promise<void> {
      const listeners = outOfRangeListeners.get(this.groupId);
      if (listeners === undefined) return super.recoverFromOffsetOutOfRange(error);
      for (const tell of listeners) tell({ topic: error.topic, partition: error.partition, memberId: this.memberId });
      await new Promise((resolve) => setTimeout(resolve, OUT_OF_RANGE_PAUSE_MS));
    }
  };

/** Puts what `replacementOf` makes of it where kafkajs will look for one of its own modules. */
function replace(path: string, replacementOf: (original: unknown) => object): void {
  const file = require.resolve(`kafkajs/src/${path}`);
  const loaded = require.cache[file] as { exports: object } | undefined;
  if (loaded !== undefined && mark in loaded.exports) return;
  if (loaded !== undefined) throw new Error('kafkajs was loaded by another module than infra/kafka/patches/kafkajs.ts');
  const original: unknown = require(file);
  const module = require.cache[file];
  if (typeof original !== 'function' || module === undefined) throw new TypeError(`this version of kafkajs has another ${path}`);
  module.exports = Object.assign(replacementOf(original), { [mark]: true });
}

replace('protocol/requests/fetch/v4/decodeMessages.js', () => decodeMessages);
replace('protocol/recordBatch/record/v0/index.js', () => encodeRecord);
replace('producer/sendMessages.js', () => createSendMessages);
replace('consumer/runner.js', (original) => runnerOf(original as RunnerClass));
replace('consumer/consumerGroup.js', (original) => membershipOf(groupMemberOf(original as GroupMemberClass)));
replace('network/requestQueue/index.js', (original) => requestQueueOf(original as RequestQueueClass));
replace('network/connection.js', (original) => connectionOf(original as ConnectionClass));

export const kafkajs = require('kafkajs') as typeof types;

// What is fetched is unpacked by record-batches.ts.
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
  compress: ({ buffer }: { readonly buffer: Buffer }) => compressLz4(buffer),
  decompress: (packed: Buffer) => decompress(kafkajs.CompressionTypes.LZ4, packed),
});
