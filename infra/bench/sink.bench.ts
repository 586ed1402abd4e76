// Measures how fast turns get from the topic into the table, exactly once: a real `turnstream warehouse`, compared with the Kafka engine of
// the same ClickHouse, which stores at least once. Both read the same topic into the same table. `npm run bench sink`; with `--mixed`, it
// measures how fast our sink reads turns of several versions of their schema.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Store } from '../../streams/core/ports.ts';
import { freePort } from '../app/open/local-ports.ts';
import { connectStore } from '../clickhouse/client.ts';
import { readStorePassword } from '../clickhouse/store/password.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { storeEnvironment } from '../clickhouse/store-process.ts';
import { loadConfig } from '../config/load.ts';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { startRoleProcess, type WatchedRole } from './role-process.ts';
import { prepareSinkTopic, type SinkTopic, type TurnVersions } from './sink-topic.ts';
import { serveSchemas, startEngineReader, stopEngineReader } from './sink-theirs.ts';
import { median, spread } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    turns: { type: 'string', default: '800000' },
    'turn-bytes': { type: 'string', default: '2200' },
    partitions: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '3' },
    readers: { type: 'string', default: 'ours,1x65536,2x65536,2x20000' },
    compression: { type: 'string', default: 'lz4' },
    mixed: { type: 'boolean', default: false },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const LOOK_MS = 25;
const STALL_MS = 60_000;
const SESSIONS = 4;

interface Measure {
  readonly rows: number;
  /** From the first rows that can be seen to the last. */
  readonly seconds: number;
  /** Rows that appeared after the first query that found any. */
  readonly counted: number;
  /** CPU time of the store and of our sink, over the same time, s. */
  readonly cpuSeconds: number;
}

interface SinkWorld {
  readonly site: BenchSite;
  readonly topic: SinkTopic;
  readonly registryUrl: string;
  readonly store: Store;
  readonly storeUrl: string;
  readonly storeProcess: WatchedRole;
  readonly dataDir: string;
}

/** Watches the table grow until it has all rows. */
async function watch(world: SinkWorld, processes: readonly WatchedRole[]): Promise<Measure> {
  const { store, topic, site } = world;
  const cpu = (): number => processes.reduce((sum, one) => sum + one.cpuSeconds(), 0);
  const count = async (): Promise<number> => (await store.query<{ n: number }>('select count() as n from turns'))[0]?.n ?? 0;
  let first: { readonly ms: number; readonly rows: number; readonly cpu: number } | undefined;
  let [before, beforeMs] = [0, performance.now()];
  for (;;) {
    site.signal.throwIfAborted();
    const rows = await count();
    const ms = performance.now();
    if (rows !== before) [before, beforeMs] = [rows, ms];
    if (ms - beforeMs > STALL_MS) throw new Error(`only ${rows} of ${topic.rows} rows came`);
    if (rows > 0) first ??= { ms, rows, cpu: cpu() };
    if (first !== undefined && rows >= topic.rows)
      return { rows, seconds: (ms - first.ms) / 1_000, counted: rows - first.rows, cpuSeconds: cpu() - first.cpu };
    await sleep(LOOK_MS);
  }
}

async function measureOurs(world: SinkWorld): Promise<Measure> {
  const { site, topic, storeUrl, storeProcess, dataDir } = world;
  const sink = await startRoleProcess({
    args: ['warehouse'],
    dataDir,
    settings: {
      ...{ KAFKA_BROKERS: site.brokers.join(','), CLICKHOUSE_URL: storeUrl, TURNSTREAM_NAMESPACE: topic.namespace },
      TURNSTREAM_PARTITIONS_ROLLOUTS: String(topic.partitions),
    },
  });
  try {
    return await watch(world, [storeProcess, sink]);
  } finally {
    await sink.stop();
  }
}

async function measureTheirs(world: SinkWorld, consumers: number, blockRows: number): Promise<Measure> {
  const { site, topic, store, registryUrl, storeProcess } = world;
  const { brokers } = site;
  await startEngineReader(store, { brokers, topic: `${topic.namespace}.rollouts`, registryUrl, consumers, blockRows });
  try {
    return await watch(world, [storeProcess]);
  } finally {
    await stopEngineReader(store);
  }
}

/** One reader over a new store and with a new group, so that none profits or suffers from the one before. */
async function measure(reader: string, given: Pick<SinkWorld, 'site' | 'topic' | 'registryUrl'>): Promise<Measure> {
  const { site, topic } = given;
  const dataDir = join(site.dataDir, `store-${Date.now()}`);
  await mkdir(dataDir, { recursive: true });
  const port = await freePort();
  const storeProcess = await startRoleProcess({
    args: ['store'],
    ...(reader === 'ours' ? {} : { program: fileURLToPath(new URL('open-store.process.js', import.meta.url)) }),
    dataDir,
    settings: {
      ...storeEnvironment(SESSIONS),
      TURNSTREAM_STORE_PORT: String(port),
      TURNSTREAM_STORE_SESSIONS: String(SESSIONS),
    },
  });
  try {
    await storeProcess.until(({ state }) => state === 'live');
    const storeUrl = `http://127.0.0.1:${port}`;
    const store = connectStore({ url: storeUrl, database: 'turnstream', password: readStorePassword(dataDir) ?? '' });
    await migrate(store);
    const world: SinkWorld = { ...given, store, storeUrl, storeProcess, dataDir };
    const [consumers = '1', blockRows = '65536'] = reader.split('x');
    const found = reader === 'ours' ? await measureOurs(world) : await measureTheirs(world, Number(consumers), Number(blockRows));
    await store.close();
    return found;
  } finally {
    await storeProcess.stop();
    await rm(dataDir, { recursive: true, force: true });
    if (reader === 'ours') await forgetGroup(site, topic);
  }
}

/** Resets the consumer group, so that the next round begins at the start of the log. */
async function forgetGroup(site: BenchSite, topic: SinkTopic): Promise<void> {
  const connection = await site.connect(topic.namespace, { partitionsRollouts: topic.partitions });
  const positions = Array.from({ length: topic.partitions }, (_, partition) => ({
    topic: 'rollouts' as const,
    partition,
    offset: 0,
    metadata: '',
  }));
  await connection.setOffsets(`${topic.namespace}.warehouse`, positions);
  await connection.close();
}

const ratesOf = (measures: readonly Measure[]): readonly number[] => measures.map(({ counted, seconds }) => counted / seconds);
const perCpuSecond = (measures: readonly Measure[]): readonly number[] => measures.map(({ counted, cpuSeconds }) => counted / cpuSeconds);
const nameOf = (reader: string): string => {
  const [consumers, blockRows] = reader.split('x');
  return reader === 'ours'
    ? 'turnstream warehouse, exactly once'
    : `Kafka engine, ${consumers} consumers, blocks of ${blockRows}, at least once`;
};

function reportOf(topic: SinkTopic, found: ReadonlyMap<string, readonly Measure[]>, environment: BenchReport['environment']): BenchReport {
  const ours = median(ratesOf(found.get('ours') ?? []));
  const theirs = Math.max(...[...found].filter(([reader]) => reader !== 'ours').map(([, measures]) => median(ratesOf(measures))));
  return {
    name: 'sink',
    title: 'The sink: from the topic to rows',
    method:
      `A real Apache Kafka on the same machine, one topic of ${topic.partitions} partitions with ${whole(topic.rows)} turns of ${topic.turnBytes} bytes as \`turnstream load\` writes them. ` +
      'Each measurement has a new embedded ClickHouse with the tables of the project; rows are counted from the first that can be selected to the last. ' +
      'The Kafka engine (AvroConfluent) is that of the same ClickHouse, with a materialized view into the same table, and the readers take turns.',
    quick: flags.quick,
    environment,
    parameters: { turns: topic.rows, 'turn bytes': topic.turnBytes, partitions: topic.partitions, compression, rounds: flags.rounds },
    table: {
      columns: ['reader', 'rows/s', 'spread', 'of the best Kafka engine', 'rows a CPU second'],
      rows: [...found].map(([reader, measures]) => [
        nameOf(reader),
        whole(median(ratesOf(measures))),
        `${(spread(ratesOf(measures)) * 100).toFixed(0)} %`,
        (median(ratesOf(measures)) / theirs).toFixed(2),
        whole(median(perCpuSecond(measures))),
      ]),
    },
    targets: [{ what: 'our sink / the best Kafka engine', wanted: 'at least 1.0', found: (ours / theirs).toFixed(2), met: ours >= theirs }],
    figures: Object.fromEntries(found),
  };
}

const [turns, rounds] = flags.quick ? [60_000, 1] : [Number(flags.turns), Number(flags.rounds)];
const { kafkaCompression: compression } = loadConfig({ TURNSTREAM_KAFKA_COMPRESSION: flags.compression });
const sizeOf = (namespace: string) => ({
  ...{ namespace, turns, partitions: Number(flags.partitions), turnBytes: Number(flags['turn-bytes']), compression },
});

/** The same turns as different versions of the schema, each in a separate topic, read by our sink alternately. */
async function mainMixed(): Promise<void> {
  const environment = describeEnvironment();
  const report = await withSite(async (site) => {
    const topics = new Map<TurnVersions, SinkTopic>();
    for (const versions of ['newest', 'oldest', 'mixed'] as const) {
      say(`writing ${whole(turns)} turns, versions: ${versions}`);
      topics.set(versions, await prepareSinkTopic(site, { ...sizeOf(`sink-${versions}`), versions }));
    }
    const found = new Map<TurnVersions, Measure[]>([...topics.keys()].map((versions) => [versions, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const [versions, topic] of topics) {
        const one = await measure('ours', { site, topic, registryUrl: '' });
        found.get(versions)?.push(one);
        say(`round ${round}: ${versions}: ${whole(one.counted / one.seconds)} rows/s, ${whole(one.counted / one.cpuSeconds)} a CPU second`);
      }
    }
    return reportOfMixed(found, environment);
  });
  if (!(await publish(report, flags.out))) process.exitCode = flags.quick ? 0 : 1;
}

function reportOfMixed(found: ReadonlyMap<TurnVersions, readonly Measure[]>, environment: BenchReport['environment']): BenchReport {
  const rateOf = (versions: TurnVersions): number => median(ratesOf(found.get(versions) ?? []));
  const [pure, mixed] = [rateOf('newest'), rateOf('mixed')];
  return {
    name: 'sink-mixed',
    title: 'The sink: a topic with several versions of a turn',
    method:
      `As in \`sink\`, with ${whole(turns)} turns written as the newest version of their schema, as the oldest, and as every published version in turn. ` +
      'Our sink reads the three topics one after the other, each into a new store.',
    quick: flags.quick,
    environment,
    parameters: { turns, 'turn bytes': flags['turn-bytes'], partitions: flags.partitions, compression, rounds },
    table: {
      columns: ['versions', 'rows/s', 'spread', 'of the newest alone', 'rows a CPU second'],
      rows: [...found].map(([versions, measures]) => [
        versions,
        whole(median(ratesOf(measures))),
        `${(spread(ratesOf(measures)) * 100).toFixed(0)} %`,
        (median(ratesOf(measures)) / pure).toFixed(2),
        whole(median(perCpuSecond(measures))),
      ]),
    },
    targets: [{ what: 'mixed / newest', wanted: 'at least 0.95', found: (mixed / pure).toFixed(2), met: mixed >= 0.95 * pure }],
    figures: Object.fromEntries(found),
  };
}

async function main(): Promise<void> {
  const environment = describeEnvironment();
  const readers = flags.quick ? ['ours', '2x65536'] : flags.readers.split(',');
  const report = await withSite(async (site) => {
    const registry = await serveSchemas();
    site.defer(() => registry.close());
    say(`writing ${whole(turns)} turns`);
    const topic = await prepareSinkTopic(site, sizeOf('sink'));
    const found = new Map<string, Measure[]>(readers.map((reader) => [reader, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const [reader, measures] of found) {
        const one = await measure(reader, { site, topic, registryUrl: registry.url });
        measures.push(one);
        say(
          `round ${round}: ${nameOf(reader)}: ${whole(one.counted / one.seconds)} rows/s, ${whole(one.counted / one.cpuSeconds)} a CPU second`,
        );
      }
    }
    return reportOf(topic, found, environment);
  });
  if (!(await publish(report, flags.out))) process.exitCode = flags.quick ? 0 : 1;
}

if (flags.help) {
  process.stdout.write(
    'npm run bench sink -- [--turns 800000] [--turn-bytes 2200] [--partitions 8] [--rounds 3] [--readers ours,1x65536,2x65536] [--compression lz4|gzip|none] [--mixed] [--out dir] [--quick]\n',
  );
} else {
  await (flags.mixed ? mainMixed() : main());
}
