// One sink on tables without deduplication. It repeatedly kills itself with SIGKILL at one of its crash points; sometimes the broker loses
// its offsets in between.
import { randomEvents, seeded } from '../../testing/events.ts';
import { silentLogger } from '../../testing/logger.ts';
import { startRole } from '../../testing/role-process.ts';
import { audit } from '../../../consumers/warehouse/audit.ts';
import { tableNames } from '../../../consumers/warehouse/rows/tables.ts';
import { crashPoints, type CrashPoint } from '../../../streams/core/crash-points.ts';
import { isPlatformError } from '../../../streams/core/errors.ts';
import { systemClock } from '../../lifecycle/clock.ts';
import { connectLog, connectWarehouse, groupsOf, type LogConnection } from '../../app/open/connections.ts';
import { drained } from '../../app/open/drain.ts';
import { prepareLog, prepareStore } from '../../app/open/prepare.ts';
import type { Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import { pause } from '../../lifecycle/waiting.ts';

export const sinkPoints: readonly CrashPoint[] = crashPoints.filter((point) => point.startsWith('sink.'));

export interface LaneOptions {
  readonly brokers: readonly string[];
  readonly storeUrl: string;
  readonly namespace: string;
  readonly dataDir: string;
  readonly kills: number;
  readonly seed: number;
  readonly onKill: (point: CrashPoint) => void;
}

export interface LaneFindings {
  /** Kills at each crash point. */
  readonly kills: Readonly<Record<string, number>>;
  /** How often the offsets were deleted. */
  readonly forgotten: number;
  readonly records: number;
  readonly rows: number;
  readonly doubled: number;
  readonly lost: number;
  readonly changed: number;
  /** The result of the audit: every table equals the log by count and checksum. */
  readonly equal: boolean;
}

const EVENTS = 120;
/** Probability that the offsets are deleted after a kill. */
const FORGET = 0.15;
const LIMIT_MS = 120_000;
const LOOK_MS = 100;

/** Tries every crash point in turn, at the first or the second time that it is reached. */
export async function tortureSink(options: LaneOptions): Promise<LaneFindings> {
  const env = envOf(options);
  const config = loadConfig(env);
  await patiently(() => prepareLog(config, silentLogger));
  await patiently(() => prepareStore(config));
  const log = await connectLog({ config, clientId: 'torture', logger: silentLogger });
  const random = seeded(options.seed);
  const kills: Record<string, number> = {};
  let forgotten = 0;
  try {
    await forgetTokens(config);
    for (let kill = 0; kill < options.kills; kill += 1) {
      const point = sinkPoints[(kill + options.seed) % sinkPoints.length] ?? 'sink.insert.mid';
      await patiently(() => append(log, random));
      await strike(env, `${point}:${random() < 0.5 ? 1 : 2}`);
      kills[point] = (kills[point] ?? 0) + 1;
      options.onKill(point);
      if (random() < FORGET) forgotten += await forgetOffsets(log, config);
    }
    return { kills, forgotten, ...(await judge(env, config, log)) };
  } finally {
    await log.close();
  }
}

/** A busy machine responds late. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + LIMIT_MS; ;) {
    try {
      return await work();
    } catch (error) {
      if (!isPlatformError(error) || !error.retriable || Date.now() > deadline) throw error;
      await pause(LOOK_MS);
    }
  }
}

function envOf({ brokers, storeUrl, namespace, dataDir }: LaneOptions): Readonly<Record<string, string>> {
  return {
    KAFKA_BROKERS: brokers.join(','),
    CLICKHOUSE_URL: storeUrl,
    TURNSTREAM_DATA_DIR: dataDir,
    TURNSTREAM_NAMESPACE: namespace,
    TURNSTREAM_CLICKHOUSE_DATABASE: namespace.replaceAll('-', '_'),
    TURNSTREAM_KAFKA_SESSION_MS: '1500',
    TURNSTREAM_PARTITIONS_ROLLOUTS: '3',
    TURNSTREAM_SINK_BATCH_ROWS: '40',
    TURNSTREAM_SINK_MAX_WAIT_MS: '20',
    TURNSTREAM_LOG_LEVEL: 'error',
  };
}

/** Disables deduplication, so that the sink can tell what is stored only from the rows themselves. */
async function forgetTokens(config: Config): Promise<void> {
  const store = connectWarehouse(config);
  try {
    for (const table of tableNames) await store.command(`alter table ${table} modify setting non_replicated_deduplication_window = 0`);
  } finally {
    await store.close();
  }
}

async function append(log: LogConnection, random: () => number): Promise<void> {
  const writer = await log.kafka.writer();
  await writer.append(randomEvents(EVENTS, random));
  await log.kafka.appendRaw('evaluations', [{ key: 'k', value: Buffer.from('nothing to read') }]);
}

async function strike(env: Readonly<Record<string, string>>, place: string): Promise<void> {
  const role = await startRole({ ...env, TURNSTREAM_CRASH_AT: place }, 'warehouse');
  const late = setTimeout(() => {
    role.signal('SIGTERM');
  }, LIMIT_MS);
  const { signal } = await role.exited;
  clearTimeout(late);
  if (signal !== 'SIGKILL') throw new Error(`the sink was to end at ${place} and ended otherwise: ${role.output().slice(-2_000)}`);
}

/** A group can be deleted once its dead member has timed out. */
async function forgetOffsets({ kafka }: LogConnection, config: Config): Promise<number> {
  const group = groupsOf(config.namespace).warehouse;
  for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline;) {
    if (await patiently(() => kafka.offsets.forget(group))) return 1;
    await pause(LOOK_MS);
  }
  throw new Error(`the group ${group} still has members`);
}

async function judge(
  env: Readonly<Record<string, string>>,
  config: Config,
  log: LogConnection,
): Promise<Omit<LaneFindings, 'kills' | 'forgotten'>> {
  const group = groupsOf(config.namespace).warehouse;
  const role = await startRole(env, 'warehouse');
  const isDrained = await drained(log, group, AbortSignal.timeout(LIMIT_MS));
  role.signal('SIGTERM');
  await role.exited;
  if (!isDrained) throw new Error(`the sink did not come to the end of the log: ${role.output().slice(-2_000)}`);
  const store = connectWarehouse(config);
  try {
    const { ok, topics, differences, records } = await audit({
      ...{ store, group, events: log.events, reader: log.kafka.reader(), offsets: log.kafka.offsets, clock: systemClock },
      options: { differences: 10_000 },
    });
    const sum = (of: (one: { logRows: number; tableRows: number }) => number): number => differences.reduce((all, one) => all + of(one), 0);
    return {
      records,
      rows: topics.reduce((all, { tableRows }) => all + tableRows, 0),
      doubled: sum(({ logRows, tableRows }) => Math.max(0, tableRows - logRows)),
      lost: sum(({ logRows, tableRows }) => Math.max(0, logRows - tableRows)),
      changed: differences.filter(({ kind }) => kind === 'changed').length,
      equal: ok,
    };
  } finally {
    await store.close();
  }
}
