// Faults of the log and the machine, each injected for real: it hits its target, and nothing else.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isStillThere } from '../../../consumers/trainer/cut-log.ts';
import { createCodec } from '../../../schemas/codec.ts';
import type { RecordMark } from '../../../streams/run/run-state.ts';
import { groupsOf } from '../../app/open/connections.ts';
import { connectKafka, type KafkaConnection } from '../../kafka/connect.ts';
import { sharedLibsDir } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { requested, started, turn } from '../../testing/rollout-events.ts';
import { canMountDisk, smallDisk } from '../../testing/small-disk.ts';
import { startBrokers, type Brokers } from './brokers.ts';
import { cutNewest, deleteTasks, forgetOffsets } from './strike-log.ts';
import { endEngine, fillDisk } from './strike-machine.ts';
import { targets, type FaultTarget } from './schedule.ts';
import type { TortureWorld } from './world.ts';

const RUN = 'run-a';
/** Long enough to be stored once and shared by turns. */
const page = 'A page that many trajectories open. '.repeat(100);
const groups = groupsOf('turnstream');
let dir: string;
let brokers: Brokers;
let kafka: KafkaConnection;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'turnstream-strikes-'));
  brokers = await startBrokers({ dir, count: 1, libsDir: sharedLibsDir, logger: silentLogger, topics: [] });
  kafka = connectKafka({
    ...{ brokers: brokers.addresses(), clientId: 'test', namespace: 'turnstream' },
    ...{ codec: createCodec(), logger: silentLogger, sharedTextBytes: 1_000_000 },
  });
  const topics = ['rollouts', 'tasks', 'training'] as const;
  const plan = topics.map((topic) => ({ topic, partitions: 2, replication: 1, config: {} }));
  await kafka.topics.apply([...plan, { topic: 'texts', partitions: 1, replication: 1, config: { 'cleanup.policy': 'compact' } }]);
  const writer = await kafka.writer();
  const transactional = await kafka.transactional('trainer');
  for (let i = 0; i < 20; i += 1) {
    const trajectory = `${RUN}-g${i}.0`;
    const shared = turn({ trajectory, sequence: 1 }, 0, { result: page, result_chars: page.length });
    await writer.append([
      { type: 'TrajectoryStarted', key: `${RUN}-g${i}`, event: started({ trajectory }) },
      { type: 'TurnRecorded', key: `${RUN}-g${i}`, event: shared },
    ]);
    await transactional.commit({ events: [{ type: 'TrajectoryRequested', key: trajectory, event: requested({ trajectory }) }] });
  }
});

afterAll(async () => {
  await kafka.close();
  await brokers.stop();
  await rm(dir, { recursive: true, force: true });
});

/** The part of a world that these faults need, with a process per role; `killed` is the signal that ends the target. */
function world(more: Partial<TortureWorld> = {}, victim: FaultTarget = 'store') {
  const roles = new Map<FaultTarget, ReturnType<typeof spawn>>(targets.map((target) => [target, spawn('sleep', ['600'])]));
  const killed = new Promise<string | null>((resolve) => {
    roles.get(victim)?.once('exit', (_code, signal) => {
      resolve(signal);
    });
  });
  onTestFinished(() => {
    for (const role of roles.values()) role.kill('SIGKILL');
  });
  const own = {
    ...{ brokers, run: RUN, ended: () => undefined, command: async () => ({ code: 0, said: 'mended' }) },
    pidsOf: (target: FaultTarget) => [roles.get(target)?.pid ?? 0],
  };
  return { killed, world: { ...own, ...more } as unknown as TortureWorld };
}

type StruckTopic = 'rollouts' | 'tasks';
const bounds = async (topic: StruckTopic) =>
  new Map((await kafka.reader().bounds(topic)).map(({ partition, ...rest }) => [partition, rest]));

async function recordsOf(topic: StruckTopic): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  await kafka.reader().readToEnd(topic, {
    onBatch: ({ records }) => {
      for (const { partition, offset, value } of records) found.set(`${partition}/${offset}`, value?.toString('base64') ?? '');
    },
  });
  return found;
}

const strike = { atMs: 0, forMs: 0, draw: 0.4 };

describe('a strike at the log', () => {
  it.each(['rollouts', 'tasks'] as const)('takes the newest records off a partition of %s, and nothing else', async (topic) => {
    const [before, records] = [await bounds(topic), await recordsOf(topic)];
    const { killed, world: struck } = world({}, topic === 'tasks' ? 'trainer' : 'warehouse');
    const { gone, detail } = await cutNewest(struck, { ...strike, kind: 'tail', target: 'broker', topic });
    expect(await killed).toBe('SIGKILL');
    expect(detail).toContain('mended');
    const [part] = gone?.parts ?? [];
    const { partition, from, to } = part!;
    expect([from < to, to]).toEqual([true, before.get(partition)?.end]);
    expect(await bounds(topic)).toEqual(new Map([...before, [partition, { first: 0, end: from }]]));
    // lost records were kept aside unchanged
    const kept = new Map(part!.records.map(({ offset, value }) => [`${partition}/${offset}`, value?.toString('base64')]));
    expect(kept.size).toBeGreaterThan(0);
    expect(new Map([...(await recordsOf(topic)), ...kept])).toEqual(records);
  });

  it('is detectable from the records written afterwards, and readers continue with the new records', async () => {
    const reader = kafka.reader();
    const seen = new Map<string, number>();
    const marks = new Map<number, RecordMark>();
    const following = await reader.follow({
      topics: ['rollouts'],
      from: [],
      otherwise: 'first',
      onError: () => undefined,
      onBatch: ({ partition, records }) => {
        for (const { offset, leaderEpoch = -1 } of records) {
          seen.set(`${partition}/${offset}`, leaderEpoch);
          marks.set(partition, { offset, leaderEpoch });
        }
      },
    });
    onTestFinished(() => following.close());
    const before = await bounds('rollouts');
    await expect.poll(() => seen.size).toBe([...before.values()].reduce((sum, { end, first }) => sum + end - first, 0));
    const old = new Map(marks);
    const { gone } = await cutNewest(world({}, 'warehouse').world, { ...strike, kind: 'tail', target: 'broker', topic: 'rollouts' });
    const { partition, from } = gone!.parts[0]!;
    const writer = await kafka.writer();
    for (let i = 0; (await bounds('rollouts')).get(partition)!.end <= before.get(partition)!.end; i += 1) {
      await writer.append([{ type: 'TrajectoryStarted', key: `${RUN}-n${i}`, event: started({ trajectory: `${RUN}-n${i}.0` }) }]);
    }
    await expect.poll(() => marks.get(partition)!.offset).toBe((await bounds('rollouts')).get(partition)!.end - 1);
    expect(marks.get(partition)!.leaderEpoch).toBeGreaterThan(old.get(partition)!.leaderEpoch);
    for (const [at, mark] of old) expect(await isStillThere(reader, { partition: at, mark })).toBe(at !== partition);
    expect(from).toBeLessThanOrEqual(old.get(partition)!.offset);
  });

  it('deletes the oldest tasks that are already stored', async () => {
    const before = await bounds('tasks');
    const stored = [...before].map(([partition, { end }]) => ({ topic: 'tasks', partition, offset: Math.floor(end / 2) }) as const);
    await kafka.setOffsets(groups.warehouse, stored);
    const records = await recordsOf('tasks');
    const { killed, world: struck } = world({}, 'trainer');
    const { gone } = await deleteTasks(struck, { ...strike, draw: 0.9, kind: 'retention', target: 'trainer' });
    expect(await killed).toBe('SIGKILL');
    const after = await bounds('tasks');
    expect(gone?.parts.map(({ partition }) => partition)).toEqual([0, 1]);
    for (const { partition, to } of gone!.parts) {
      expect(after.get(partition)?.first).toBe(to);
      expect(to).toBeLessThanOrEqual(stored.find((one) => one.partition === partition)!.offset);
    }
    const kept = gone!.parts.flatMap((part) =>
      part.records.map(({ offset, value }) => [`${part.partition}/${offset}`, value?.toString('base64')] as const),
    );
    expect(kept.length).toBeGreaterThan(0);
    expect(new Map([...(await recordsOf('tasks')), ...kept])).toEqual(records);
  });

  it('makes Kafka forget all offsets of a group', async () => {
    await kafka.setOffsets(groups.workers(RUN), [{ topic: 'tasks', partition: 0, offset: 3 }]);
    const { killed, world: struck } = world({}, 'worker');
    const { detail } = await forgetOffsets(struck, { ...strike, kind: 'forget', target: 'worker' });
    expect(detail).toBe(`${groups.workers(RUN)} had 1 offsets`);
    expect(await killed).toBe('SIGKILL');
    expect((await kafka.offsets.fetch(groups.workers(RUN), 'tasks')).map(({ offset }) => offset)).toEqual([-1, -1]);
    // a group that never existed counts as deleted
    expect((await forgetOffsets(world().world, { ...strike, kind: 'forget', target: 'trainer' })).detail).toContain('had 0 offsets');
  });
});

describe('a strike at the machine', () => {
  it.skipIf(!canMountDisk)('fills a disk for a while', async () => {
    const disk = await smallDisk(4);
    onTestFinished(() => disk.remove());
    const write = () => writeFile(join(disk.dir, 'data'), Buffer.alloc(1_000_000));
    await write();
    const { world: struck } = world({ diskOf: () => disk });
    const filling = fillDisk(struck, { ...strike, forMs: 1_500, kind: 'disk', target: 'store' });
    await expect.poll(() => disk.freeBytes()).toBe(0);
    await rm(join(disk.dir, 'data'));
    await expect.poll(() => disk.freeBytes()).toBe(0);
    await expect(write()).rejects.toMatchObject({ code: 'ENOSPC' });
    await filling;
    await write();
  });

  it('sends the store a statement that crashes its engine, and reports how it responds afterwards', async () => {
    const asked: string[] = [];
    const server = createServer((socket) => {
      socket.on('data', (part) => {
        asked.push(part.toString());
        const answer = asked.join('').includes('select 1') ? ['500 No', 'Code: 236.'] : ['200 OK', '1'];
        if (asked.at(-1)?.includes('select'))
          socket.end(`HTTP/1.1 ${answer[0]}\r\nContent-Length: ${answer[1]?.length}\r\n\r\n${answer[1]}`);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { world: struck } = world({ store: { url, user: 'default', password: 'secret' } });
    const { detail, pid } = await endEngine(struck);
    expect(pid).toBeGreaterThan(0);
    expect(detail).toBe('the statement: 200 1; the next one: 500 Code: 236.');
    expect(asked.join('')).toContain('JSONMergePatch');
    expect(asked.join('').match(/x-clickhouse-key: secret/g)).toHaveLength(2);
  });
});
