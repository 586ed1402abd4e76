// Plain kafkajs in a process of its own: `node fold-bare.process.js <job as JSON>`; answers over the IPC channel. It must not load
// infra/kafka, which replaces the decoder of kafkajs.
import { randomBytes } from 'node:crypto';
import avro from 'avsc';
import { Kafka, logLevel } from 'kafkajs';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { contentId } from '../../schemas/subjects.ts';
import type { FoldJob, FoldMeasure } from './fold-job.ts';
import { createWatch } from './fold-watch.ts';

/** A typical reader: it ignores headers, commits nothing, and fetches more than the default. */
async function bare({ brokers, topic, mode }: FoldJob): Promise<FoldMeasure> {
  const types = new Map(
    publishedSchemas.map((entry) => [contentId(entry.schema), avro.Type.forSchema(JSON.parse(entry.schema) as avro.Schema)]),
  );
  const kafka = new Kafka({ brokers: [...brokers], clientId: 'bare', logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({
    groupId: `bare-${randomBytes(6).toString('hex')}`,
    maxBytesPerPartition: 2 * 1024 * 1024,
    maxBytes: 16 * 1024 * 1024,
  });
  const watch = createWatch(topic.records);
  await consumer.connect();
  await consumer.subscribe({ topics: [`${topic.namespace}.rollouts`], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      watch.begin();
      if (mode === 'decode') {
        for (const { value } of batch.messages) {
          if (value !== null) types.get(value.readUInt32BE(1))?.fromBuffer(value.subarray(5));
        }
      }
      watch.count(batch.messages.length);
    },
  });
  const measure = await watch.done;
  await consumer.disconnect();
  return { ...measure, ready: 0 };
}

const measure = await bare(JSON.parse(process.argv[2] ?? '') as FoldJob);
process.send?.(measure, () => process.exit(0));
