// Faults of the cluster: it deletes the offsets of a group, loses the newest records of a partition, or deletes old ones. Lost records are
// kept aside for the oracle.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createCodec } from '../../../schemas/codec.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';
import { groupsOf } from '../../app/open/connections.ts';
import { connectKafka, type KafkaConnection } from '../../kafka/connect.ts';
import { placeRecords, type FetchedRecord } from '../../kafka/records/record-batches.ts';
import { TEXTS_TOPIC } from '../../kafka/topics/topics.ts';
import { silentLogger } from '../../testing/logger.ts';
import { deleteBefore, forgetGroup } from './cluster-admin.ts';
import type { FaultOf } from './schedule.ts';
import type { Done, Gone, GonePart } from './done.ts';
import { processesOf, whileStopped } from './strike-process.ts';
import { cutTail, newestBatches } from './tail.ts';
import type { TortureWorld } from './world.ts';
import { pause } from '../../lifecycle/waiting.ts';

const NAMESPACE = 'turnstream';

/** A group can be deleted once its members have timed out, so they are stopped first and killed afterwards. */
export async function forgetOffsets(world: TortureWorld, { target }: FaultOf<'forget'>): Promise<Done> {
  const groups = groupsOf(NAMESPACE);
  const group = target === 'warehouse' ? groups.warehouse : groups[target === 'worker' ? 'workers' : 'trainer'](world.run);
  const pids = await processesOf(world, target);
  const offsets = await whileStopped(pids, () => forgetGroup(world.brokers.addresses(), group));
  return { pid: pids[0], detail: `${group} had ${offsets} offsets` };
}

/** Maximum number of lost batches: those of a second or two. */
const MOST_BATCHES = { rollouts: 40, tasks: 4 } as const;
const PARTITIONS = 64;

/** Kills all brokers at once, and the trainer as well if its own requests are lost, because it would not notice the loss. */
export async function cutNewest(world: TortureWorld, { topic, draw }: FaultOf<'tail'>): Promise<Done> {
  const pids = topic === 'tasks' ? await processesOf(world, 'trainer') : [];
  const part = await whileStopped(pids, () => world.brokers.whileDown(() => cutOne(world.brokers.dataDirs, { topic, draw })));
  if (part === undefined) throw new Error(`no partition of ${topic} has a record to lose`);
  const ledgerEnd = await withKafka(world, async (kafka) => {
    await giveTexts(kafka, part.records);
    return ledgerEndOf(kafka);
  });
  const { partition, from, to, records } = part;
  const lost = `${topic}/${partition} ended at ${to}, ends at ${from}: ${records.length} records are gone`;
  return {
    ...{ pid: pids[0], detail: `${lost}; ${await mend(world)}` },
    gone: { how: 'cut', topic, parts: [part], ledgerEnd },
  };
}

/** Adds the shared texts to turns that were cut from log files, because readers of the log get turns with their texts. */
async function giveTexts(kafka: KafkaConnection, records: readonly FetchedRecord[]): Promise<void> {
  if (records.every(({ lacks }) => lacks === undefined)) return;
  const texts = new Map<string, Buffer>();
  await kafka.raw(TEXTS_TOPIC).readToEnd({
    onBatch: (batch) => {
      for (const { key, value } of batch.records) if (value !== null) texts.set(key?.toString() ?? '', Buffer.from(value));
    },
  });
  for (const record of records) {
    const text = texts.get(record.lacks?.sha256 ?? '');
    if (text !== undefined) record.give(text, false);
  }
}

/** How long a stopped sink may stay a member of its group, ms: its session, and a rebalance that waits for it. */
const MEND_TIMEOUT_MS = 90_000;

/**
 * The only manual intervention, as the error message instructs: stops the sink and tells it how to handle a log that is shorter than its
 * position.
 */
async function mend(world: TortureWorld): Promise<string> {
  const pids = await processesOf(world, 'warehouse');
  return whileStopped(pids, async () => {
    const began = Date.now();
    for (;;) {
      const { code, said } = await world.command('warehouse', 'mend', '--yes');
      if (code === 0 || Date.now() - began > MEND_TIMEOUT_MS)
        return `mend ended with ${code ?? 'a signal'}: ${said.trim().split('\n').at(-1) ?? ''}`;
      await pause(1_000);
    }
  });
}

async function cutOne(
  dataDirs: readonly string[],
  { topic, draw }: Pick<FaultOf<'tail'>, 'topic' | 'draw'>,
): Promise<(GonePart & { readonly records: readonly FetchedRecord[] }) | undefined> {
  const replicasOf = (partition: number): readonly string[] => dataDirs.map((dir) => join(dir, `${NAMESPACE}.${topic}-${partition}`));
  const filled = Array.from({ length: PARTITIONS }, (_, partition) => partition).filter((partition) =>
    replicasOf(partition).every((dir) => existsSync(dir) && newestBatches(dir) > 0),
  );
  const partition = filled[Math.floor(draw * filled.length)];
  if (partition === undefined) return undefined;
  const wanted = 1 + Math.floor(((draw * filled.length) % 1) * MOST_BATCHES[topic]);
  const most = newestBatches(replicasOf(partition)[0] ?? '') * 2;
  for (let batches = wanted; batches <= Math.max(wanted, most); batches += 1) {
    const cut = await cutTail(replicasOf(partition), batches);
    if (cut === undefined) continue;
    placeRecords(cut.records, { topic, partition });
    return { partition, from: cut.from, to: cut.to, records: cut.records };
  }
  return undefined;
}

/** Deletes records up to the stored position, in some or all partitions, while the trainer is down. */
export async function deleteTasks(world: TortureWorld, { draw }: FaultOf<'retention'>): Promise<Done> {
  const pids = await processesOf(world, 'trainer');
  const gone = await whileStopped(pids, () => withKafka(world, (kafka) => deleteSome(world, kafka, draw)));
  const ranges = gone.parts.map(({ partition, from, to }) => `${partition}: ${from} to ${to}`);
  return { pid: pids[0], detail: `deleted of tasks ${ranges.join(', ')}`, gone };
}

async function deleteSome(world: TortureWorld, kafka: KafkaConnection, draw: number): Promise<Gone> {
  const [bounds, stored] = await Promise.all([
    kafka.reader().bounds('tasks'),
    kafka.offsets.fetch(groupsOf(NAMESPACE).warehouse, 'tasks').then((found) => new Map(found.map((one) => [one.partition, one.offset]))),
  ]);
  const share = 0.5 + draw / 2;
  const parts = new Map<number, { from: number; to: number; records: LogRecord[] }>();
  for (const { partition, first } of bounds.slice(0, 1 + Math.floor(draw * bounds.length))) {
    const to = Math.floor(first + share * ((stored.get(partition) ?? first) - first));
    if (to > first) parts.set(partition, { from: first, to, records: [] });
  }
  const to = new Map([...parts].map(([partition, part]) => [partition, part.to]));
  await kafka.reader().readToEnd('tasks', {
    to,
    onBatch: ({ records }) => {
      for (const record of records) if (record.offset < (to.get(record.partition) ?? 0)) parts.get(record.partition)?.records.push(record);
    },
  });
  if (to.size > 0) await deleteBefore(world.brokers.addresses(), `${NAMESPACE}.tasks`, to);
  const ledgerEnd = await ledgerEndOf(kafka);
  return { how: 'deleted', topic: 'tasks', parts: [...parts].map(([partition, part]) => ({ partition, ...part })), ledgerEnd };
}

const ledgerEndOf = async (kafka: KafkaConnection): Promise<number> =>
  (await kafka.reader().bounds('training')).reduce((sum, { end }) => sum + end, 0);

async function withKafka<T>(world: TortureWorld, work: (kafka: KafkaConnection) => Promise<T>): Promise<T> {
  const kafka = connectKafka({
    ...{ brokers: world.brokers.addresses(), clientId: 'torture', namespace: NAMESPACE },
    ...{ codec: createCodec(), logger: silentLogger },
  });
  try {
    return await work(kafka);
  } finally {
    await kafka.close();
  }
}
