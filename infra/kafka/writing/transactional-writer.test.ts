// The steps of a transaction on a scripted producer: every request to the broker lies between two crash points.
import type { Kafka } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../testing/logger.ts';
import { stepsOf, watchPoints } from '../../testing/reached.ts';
import { openTransactionalWriter } from './transactional-writer.ts';

function scripted(note: (effect: string) => void, failAt = '') {
  const done = async (effect: string): Promise<void> => {
    note(effect);
    if (effect === failAt) throw new Error(`refused at ${effect}`);
  };
  const sendBatch = async ({ topicMessages }: { topicMessages: { topic: string; messages: { target: number }[] }[] }) => {
    await done('send');
    // the real partitioner stores its choice in the message
    for (const { messages } of topicMessages) for (const message of messages) message.target = 0;
    return topicMessages.map(({ topic }) => ({ topicName: topic, partition: 0, baseOffset: '0' }));
  };
  const transaction = async () => {
    await done('begin');
    return { sendBatch, sendOffsets: () => done('sendOffsets'), commit: () => done('commit'), abort: () => done('abort') };
  };
  const producer = { connect: async () => undefined, disconnect: async () => undefined, transaction, sendBatch };
  return { producer: () => producer } as unknown as Kafka;
}

const record = { topic: 't', key: 'k', value: Buffer.from('v'), headers: {}, bytes: 10, partition: 0 };
const offsets = { group: 'g', positions: [{ topic: 't', partition: 0, offset: 1 }] };

async function open(failAt?: string) {
  const watched = watchPoints();
  let opened = false;
  const kafka = scripted((effect) => {
    if (opened) watched.effect(effect);
  }, failAt);
  const writer = await openTransactionalWriter({ kafka, transactionalId: 'id', logger: silentLogger, reach: watched.reach });
  opened = true;
  return { watched, writer };
}

describe('a transaction', () => {
  it('makes every request in a named step, in the order of the table', async () => {
    const { watched, writer } = await open();
    await writer.commit([record], offsets);
    expect(watched.effects).toEqual([
      ['trainer.commit.begin', 'begin'],
      ['trainer.commit.produce', 'send'],
      ['trainer.commit.offsets', 'sendOffsets'],
      ['trainer.commit.end', 'commit'],
    ]);
    expect(watched.points).toEqual(stepsOf('trainer.commit').flatMap((step) => [`${step}.before`, `${step}.after`]));
  });

  it('is aborted when a step fails, and the second crash point of the step is not reached', async () => {
    const { watched, writer } = await open('sendOffsets');
    await expect(writer.commit([record], offsets)).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    expect(watched.points.at(-1)).toBe('trainer.commit.offsets.before');
    expect(watched.effects.map(([, effect]) => effect)).toEqual(['begin', 'send', 'sendOffsets', 'abort']);
  });
});
