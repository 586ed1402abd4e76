// Sends to several brokers, some of which fail, on a scripted cluster with logs like those of brokers: it drops duplicates by sequence
// number, and rejects gaps. local-cluster.int.test.ts uses real brokers.
import fc from 'fast-check';
import type { Message } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { createSendMessages, type SendDeps } from './send-messages.ts';

type SendFault = 'lost before' | 'lost after' | 'moved';
const PARTITIONS = 4;
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Brokers 1 and 2; `faults` apply to successive produce requests. */
function scriptedCluster(faults: SendFault[], slow: ReadonlySet<string> = new Set()) {
  const logs = new Map<string, { value: string; sequence: number }[]>();
  const sequences = new Map<string, number>();
  const leaders = Array.from({ length: PARTITIONS }, (_, partition) => String(1 + (partition % 2)));
  let busy = 0;
  const broker = (nodeId: string) => ({
    async produce(request: object) {
      const { topicData } = request as {
        topicData: { topic: string; partitions: { partition: number; messages: Message[]; firstSequence: number }[] }[];
      };
      busy += 1;
      for (let wait = slow.has(nodeId) ? 20 : 1; wait > 0; wait -= 1) await tick();
      busy -= 1;
      const fault = faults.shift();
      if (fault === 'moved') leaders.forEach((leader, partition) => (leaders[partition] = leader === '1' ? '2' : '1'));
      if (fault === 'moved' || fault === 'lost before') throw Object.assign(new Error(fault), { retriable: true });
      const topics = topicData.map(({ topic, partitions }) => ({
        topicName: topic,
        partitions: partitions.map(({ partition, messages, firstSequence }) => {
          if (leaders[partition] !== nodeId) throw Object.assign(new Error('not the leader'), { retriable: true });
          const log = logs.get(`${topic}/${partition}`) ?? [];
          logs.set(`${topic}/${partition}`, log);
          const at = log.findIndex(({ sequence }) => sequence === firstSequence);
          if (at >= 0) return { partition, baseOffset: String(at) };
          expect(firstSequence, 'a gap in the sequence').toBe(log.length);
          messages.forEach(({ value }, index) => log.push({ value: String(value), sequence: firstSequence + index }));
          return { partition, baseOffset: String(log.length - messages.length) };
        }),
      }));
      if (fault === 'lost after') throw Object.assign(new Error(fault), { retriable: true });
      return { topics };
    },
  });
  const brokers: Record<string, ReturnType<typeof broker>> = { '1': broker('1'), '2': broker('2') };
  const keyOf = (topic: string, partition: number) => `${topic}/${partition}`;
  const deps: SendDeps = {
    cluster: {
      addMultipleTargetTopics: async () => undefined,
      refreshMetadataIfNecessary: async () => undefined,
      refreshMetadata: async () => undefined,
      findTopicPartitionMetadata: () => Array.from({ length: PARTITIONS }, (_, partitionId) => ({ partitionId })) as never,
      findLeaderForPartitions: (_topic, [partition = 0]) => ({ [leaders[partition] ?? '']: [partition] }),
      findBroker: async ({ nodeId }) => brokers[nodeId]!,
      removeBroker: () => undefined,
      isConnected: () => true,
      connect: async () => undefined,
    },
    partitioner: ({ message }) => Number(message.key),
    eosManager: {
      isTransactional: () => false,
      getTransactionalId: () => '',
      getProducerId: () => 1,
      getProducerEpoch: () => 0,
      getSequence: (topic, partition) => sequences.get(keyOf(topic, partition)) ?? 0,
      updateSequence: (topic, partition, increment) => {
        sequences.set(keyOf(topic, partition), (sequences.get(keyOf(topic, partition)) ?? 0) + increment);
      },
      addPartitionsToTransaction: async () => undefined,
      acquireBrokerLock: async () => undefined,
      releaseBrokerLock: async () => undefined,
    },
    retrier: async (work) => {
      for (;;) {
        try {
          return await work((error) => {
            throw error;
          });
        } catch (error) {
          if ((error as { retriable?: boolean }).retriable !== true) throw error;
          expect(busy, 'a broker was still at work when the next try began').toBe(0);
        }
      }
    },
  };
  return { send: createSendMessages(deps), logs };
}

describe('sending to several brokers', () => {
  it('waits for a slow one before it retries, and does not send to it twice', async () => {
    const { send, logs } = scriptedCluster(['lost before'], new Set(['2']));
    const messages = [0, 1].map((partition) => ({ key: String(partition), value: `v${partition}` }));
    const answers = await send({ acks: -1, topicMessages: [{ topic: 't', messages }] });
    expect(answers).toEqual([
      { topicName: 't', partition: 0, baseOffset: '0' },
      { topicName: 't', partition: 1, baseOffset: '0' },
    ]);
    expect([...logs.values()].map((log) => log.length)).toEqual([1, 1]);
  });

  it('appends every record once and in order, whatever fails and wherever leaders move', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom<SendFault>('lost before', 'lost after', 'moved'), { maxLength: 8 }),
        fc.array(fc.array(fc.nat({ max: PARTITIONS - 1 }), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
        fc.subarray(['1', '2']),
        async (faults, sends, slow) => {
          const { send, logs } = scriptedCluster([...faults], new Set(slow));
          const wanted = new Map<string, string[]>();
          for (const [turn, partitions] of sends.entries()) {
            const messages = partitions.map((partition, index) => ({ key: String(partition), value: `${turn}.${index}` }));
            for (const { key, value } of messages) wanted.set(`t/${key}`, [...(wanted.get(`t/${key}`) ?? []), value]);
            const answers = await send({ acks: -1, topicMessages: [{ topic: 't', messages }] });
            expect(answers.map(({ partition }) => partition).sort()).toEqual([...new Set(partitions)].sort());
          }
          expect(new Map([...logs].map(([key, log]) => [key, log.map(({ value }) => value)]))).toEqual(wanted);
        },
      ),
    );
  });
});
