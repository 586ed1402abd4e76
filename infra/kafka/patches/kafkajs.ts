// The only module that loads kafkajs. It replaces some of its modules while kafkajs loads, because they have no extension points. Each
// patch is a file with its reason and the upstream issue.
// The version is pinned. A version without these modules is rejected at once, because it would read or write differently without any error.
import { createRequire } from 'node:module';
import type * as types from 'kafkajs';
import { compressLz4, decompress } from '../records/compression.ts';
import { batchPatch } from './batch.ts';
import { connectionPatch } from './connection.ts';
import { fetchDecoderPatch } from './fetch-decoder.ts';
import { consumerGroupPatch } from './consumer-group.ts';
import type { Patch } from './patch.ts';
import { recordEncoderPatch } from './record-encoder.ts';
import { requestQueuePatch } from './request-queue.ts';
import { runnerPatch } from './runner.ts';
import { sendMessagesPatch } from './send-messages.ts';

const require = createRequire(import.meta.url);
const mark = Symbol.for('turnstream.kafkajs');

/** Replaces the original in Node's module cache. */
function apply({ module: path, replace }: Patch): void {
  const file = require.resolve(`kafkajs/src/${path}`);
  const loaded = require.cache[file] as { exports: object } | undefined;
  if (loaded !== undefined && mark in loaded.exports) return;
  if (loaded !== undefined) throw new Error('kafkajs was loaded by another module than infra/kafka/patches/kafkajs.ts');
  const original: unknown = require(file);
  const module = require.cache[file];
  if (typeof original !== 'function' || module === undefined) throw new TypeError(`this version of kafkajs has another ${path}`);
  module.exports = Object.assign(replace(original as never), { [mark]: true });
}

// in this order: later modules load earlier ones
const patches: readonly Patch[] = [
  fetchDecoderPatch,
  batchPatch,
  recordEncoderPatch,
  sendMessagesPatch,
  runnerPatch,
  consumerGroupPatch,
  requestQueuePatch,
  connectionPatch,
];
for (const patch of patches) apply(patch);

export const kafkajs = require('kafkajs') as typeof types;

// A codec is an extension point of kafkajs. Fetched records are decompressed by the decoder.
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
  compress: ({ buffer }: { readonly buffer: Buffer }) => compressLz4(buffer),
  decompress: (packed: Buffer) => decompress(kafkajs.CompressionTypes.LZ4, packed),
});
