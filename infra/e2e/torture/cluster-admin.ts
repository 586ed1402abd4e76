// Administrative actions that a cluster does not announce to its clients.
import { kafkajs } from '../../kafka/patches/kafkajs.ts';
import { pause } from '../../lifecycle/waiting.ts';

type Admin = ReturnType<InstanceType<typeof kafkajs.Kafka>['admin']>;

const FORGET_TIMEOUT_MS = 60_000;
const LOOK_MS = 200;
const GONE = 'GROUP_ID_NOT_FOUND';

async function withAdmin<T>(brokers: readonly string[], work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new kafkajs.Kafka({ clientId: 'torture', brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING }).admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

interface GroupErrors {
  readonly groups?: readonly { readonly error?: { readonly type?: string } }[];
}

/** Deletes a group with its offsets, once its members have timed out. Returns how many offsets it had. */
export async function forgetGroup(brokers: readonly string[], groupId: string): Promise<number> {
  const began = Date.now();
  for (;;) {
    try {
      return await withAdmin(brokers, async (admin) => {
        const offsets = await admin.fetchOffsets({ groupId });
        await admin.deleteGroups([groupId]);
        return offsets.flatMap(({ partitions }) => partitions).filter(({ offset }) => Number(offset) >= 0).length;
      });
    } catch (error) {
      if ((error as GroupErrors).groups?.[0]?.error?.type === GONE) return 0;
      if (Date.now() - began > FORGET_TIMEOUT_MS) throw error;
    }
    await pause(LOOK_MS);
  }
}

/** Deletes records before these offsets, like retention. */
export const deleteBefore = (brokers: readonly string[], topic: string, offsets: ReadonlyMap<number, number>): Promise<void> =>
  withAdmin(brokers, async (admin) => {
    // kafkajs knows the leaders only of topics that it has been asked about
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({
      topic,
      partitions: [...offsets].map(([partition, offset]) => ({ partition, offset: String(offset) })),
    });
  });
