// Copies a run's log to the namespace `changed`, at the same offsets, with one reward of a trained trajectory changed.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { LogRecord } from '../../streams/core/ports.ts';
import { connectLog, type LogConnection } from '../app/open/connections.ts';
import { withServices } from '../app/open/services.ts';
import type { Config } from '../config/descriptors.ts';
import type { RawRecord } from '../kafka/records/message.ts';
import { topicPlanOf } from '../kafka/topics/topics.ts';
import { silentLogger } from '../testing/logger.ts';

export interface ChangedAttempt {
  readonly trajectory: string;
  readonly attempt: number;
  readonly reward: number;
}

/** Makes the copy and returns the trajectory whose reward is increased by 0.125. */
export function copyChanged(config: Config, run: string): Promise<ChangedAttempt> {
  return withServices({ config, needs: { kafka: true, store: false }, logger: silentLogger, purpose: 'test' }, async (found) => {
    const source = await connectLog({ config: found, clientId: 'test', logger: silentLogger });
    const target = await connectLog({ config: { ...found, namespace: 'changed' }, clientId: 'test', logger: silentLogger });
    try {
      await target.kafka.topics.apply(topicPlanOf(found));
      await target.registry.ensurePublished();
      const victim = await firstTrained(source, run);
      for (const topic of ['tasks', 'rollouts', 'training', 'policies'] as const) await copyTopic({ source, target, victim }, topic);
      return victim;
    } finally {
      await target.close();
      await source.close();
    }
  });
}

async function firstTrained({ kafka, events }: LogConnection, run: string): Promise<ChangedAttempt> {
  let victim: ChangedAttempt | undefined;
  await kafka.reader().readToEnd('training', {
    onBatch: async ({ records }) => {
      for (const record of records) {
        const read = await events.read(record);
        if (!read.ok || read.value.type !== 'StepCompleted' || read.value.event.run_id !== run) continue;
        const [first] = read.value.event.trajectories;
        if (first !== undefined) victim ??= { trajectory: first.trajectory_id, attempt: first.attempt, reward: first.reward };
      }
    },
  });
  if (victim === undefined) throw new Error(`run ${run} has trained on nothing`);
  return victim;
}

interface Copy {
  readonly source: LogConnection;
  readonly target: LogConnection;
  readonly victim: ChangedAttempt;
}

/** Transaction markers occupy an offset each but are not records: unrelated records fill these offsets. */
async function copyTopic(copy: Copy, topic: EventTopic): Promise<void> {
  const next = new Map<number, number>();
  await copy.source.kafka.reader().readToEnd(topic, {
    onBatch: async ({ partition, records }) => {
      const raw: RawRecord[] = [];
      for (const record of records) {
        const gap = record.offset - (next.get(partition) ?? 0);
        raw.push(...Array.from({ length: gap }, () => ({ key: null, value: Buffer.alloc(0), headers: { 'run-id': 'nobody' }, partition })));
        raw.push({ key: record.key, value: await valueOf(copy, record), headers: record.headers, partition });
        next.set(partition, record.offset + 1);
      }
      if (raw.length > 0) await copy.target.kafka.appendRaw(topic, raw);
    },
  });
}

async function valueOf({ source, victim }: Copy, record: LogRecord): Promise<Buffer | null> {
  const read = record.topic === 'rollouts' ? await source.events.read(record) : undefined;
  if (read?.ok !== true || read.value.type !== 'TrajectoryFinished') return record.value;
  const { event } = read.value;
  if (event.trajectory_id !== victim.trajectory || event.attempt !== victim.attempt) return record.value;
  return source.codec.encode('TrajectoryFinished', { ...event, reward: event.reward + 0.125 });
}
