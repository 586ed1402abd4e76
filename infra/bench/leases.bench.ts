// Measures the coordinator of an external trainer (`npm run bench leases`): the latency and throughput of a large batch over HTTP, the
// memory that this takes, and the rate at which small batches are leased and committed. Uses a real `turnstream trainer` and a real broker;
// this process acts as the workers.
import { parseArgs } from 'node:util';
import { SYNTHETIC_DATASET } from '../../producers/load/load.ts';
import { groupsOf } from '../app/open/connections.ts';
import { findCoordinator } from '../app/open/coordinator-address.ts';
import { Turnstream, type Batch, type Trainer } from '../clients/typescript/index.ts';
import type { KafkaConnection } from '../kafka/connect.ts';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import type { RowSize } from './row-stages.ts';
import { median, percentile } from './statistics.ts';
import { writeSyntheticQuestions } from './synthetic-questions.ts';
import { startTokenFleet } from './token-fleet.ts';
import { startTrainer, type WatchedTrainer } from './trainer-child.ts';

const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string', default: '256' },
    tokens: { type: 'string', default: '4096' },
    turns: { type: 'string', default: '8' },
    batches: { type: 'string', default: '12' },
    small: { type: 'string', default: '1000' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const GROUP_SIZE = 8;
const SMALL_GROUP = 2;
const LIMIT_MS = 120_000;
const TARGETS = { firstByteMs: 50, rowsMb: 200, grownMb: 64, leases: 1_000, commitMs: 25 } as const;
const ARROW = 'application/vnd.apache.arrow.stream';

const rows = flags.quick ? 32 : Number(flags.rows);
const batches = flags.quick ? 2 : Number(flags.batches);
const small = flags.quick ? 20 : Number(flags.small);
const size: RowSize = { tokens: Number(flags.tokens), turns: Number(flags.turns) };
const SMALL_SIZE: RowSize = { tokens: 64, turns: 1 };

interface LeaseStage {
  readonly site: BenchSite;
  readonly kafka: KafkaConnection;
}

interface LeaseRun {
  readonly run: string;
  readonly size: RowSize;
  readonly groupSize: number;
  readonly batchGroups: number;
}

interface LeasedRun {
  readonly coordinator: WatchedTrainer;
  readonly trainer: Trainer;
  readonly url: string;
  close(): Promise<void>;
}

const settingsOf = ({ groupSize, batchGroups }: LeaseRun): Readonly<Record<string, string>> => ({
  TURNSTREAM_TRAINER: 'external',
  TURNSTREAM_BACKEND: 'cpu',
  TURNSTREAM_GROUP_SIZE: String(groupSize),
  TURNSTREAM_BATCH_GROUPS: String(batchGroups),
  TURNSTREAM_MAX_CONCURRENT: String(Math.max(16, 2 * batchGroups)),
  TURNSTREAM_MAX_STALENESS: '64',
  TURNSTREAM_SILENCE_MS: '3600000',
  TURNSTREAM_PARTITIONS_ROLLOUTS: '8',
});

async function startRun({ site, kafka }: LeaseStage, wanted: LeaseRun): Promise<LeasedRun> {
  const { run } = wanted;
  const start = { brokers: site.brokers, dataDir: site.dataDir, namespace: 'leases', run, dataset: SYNTHETIC_DATASET };
  const coordinator = await startTrainer({ ...start, settings: settingsOf(wanted) });
  site.defer(() => coordinator.stop());
  await coordinator.until('the first plan', ({ state }) => state === 'live', LIMIT_MS);
  const fleet = await startTokenFleet({ kafka, codec: site.codec, run, size: wanted.size });
  const url = await findCoordinator(run, kafka.offsets, groupsOf('leases').trainer(run));
  const trainer = await new Turnstream({ url }).run(run).trainer('bench');
  return {
    ...{ coordinator, trainer, url },
    async close() {
      await fleet.close();
      await coordinator.stop();
    },
  };
}

async function leased(trainer: Trainer): Promise<Batch> {
  const batch = await trainer.lease(60_000);
  if (batch === undefined) throw new Error('there is nothing to lease');
  return batch;
}

/** Duration of the commit, ms. */
async function commit(batch: Batch): Promise<number> {
  const began = performance.now();
  await batch.commit({ policy: null, metrics: { loss: 0 } });
  return performance.now() - began;
}

interface LargeBatch {
  readonly firstByteMs: number;
  readonly megabytes: number;
  readonly seconds: number;
  readonly residentMb: number;
}

async function readRows({ coordinator, url }: LeasedRun, batch: Batch): Promise<LargeBatch> {
  const began = performance.now();
  const { body } = await fetch(`${url}${batch.lease.data.href}`, { headers: { accept: ARROW } });
  let [firstByteMs, bytes] = [NaN, 0];
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    if (bytes === 0) firstByteMs = performance.now() - began;
    bytes += chunk.length;
  }
  const seconds = (performance.now() - began) / 1_000;
  return { firstByteMs, megabytes: bytes / 1e6, seconds, residentMb: coordinator.use().resident / 1e6 };
}

async function largeBatches(stage: LeaseStage): Promise<readonly LargeBatch[]> {
  const run = await startRun(stage, { run: 'large', size, groupSize: GROUP_SIZE, batchGroups: rows / GROUP_SIZE });
  const measured: LargeBatch[] = [];
  for (let made = 0; made < batches; made += 1) {
    stage.site.signal.throwIfAborted();
    const batch = await leased(run.trainer);
    const one = await readRows(run, batch);
    await commit(batch);
    measured.push(one);
    say(`batch ${made + 1}: first byte after ${one.firstByteMs.toFixed(1)} ms, ${whole(one.megabytes / one.seconds)} MB/s`);
  }
  await run.close();
  return measured;
}

interface SmallBatches {
  readonly aMinute: number;
  readonly commitMs: readonly number[];
}

async function smallBatches(stage: LeaseStage): Promise<SmallBatches> {
  const run = await startRun(stage, { run: 'small', size: SMALL_SIZE, groupSize: SMALL_GROUP, batchGroups: 1 });
  const commitMs: number[] = [];
  await commit(await leased(run.trainer)); // warms the code
  const began = performance.now();
  for (let made = 0; made < small; made += 1) {
    stage.site.signal.throwIfAborted();
    const batch = await leased(run.trainer);
    for await (const row of batch.rows()) if (row.token_ids.length === 0) throw new Error('a row has no tokens');
    commitMs.push(await commit(batch));
  }
  const minutes = (performance.now() - began) / 60_000;
  await run.close();
  return { aMinute: small / minutes, commitMs };
}

function reportOf(large: readonly LargeBatch[], few: SmallBatches, environment: BenchReport['environment']): BenchReport {
  const firstByteMs = median(large.map((one) => one.firstByteMs));
  const rate = median(large.map(({ megabytes, seconds }) => megabytes / seconds));
  const settled = large.slice(Math.min(2, large.length - 1)).map(({ residentMb }) => residentMb);
  const grown = Math.max(...settled) - (settled[0] ?? NaN);
  const commitMs = median(few.commitMs);
  return {
    name: 'leases',
    title: 'Leases of an external trainer',
    method:
      'A real trainer role (`turnstream trainer`, TURNSTREAM_TRAINER=external) on a real broker of the same machine. This process writes the attempts with all of their tokens, and is the trainer: it leases batches over HTTP, reads their rows (large ones as Arrow, small ones as NDJSON), and commits. The first byte is timed from the request for rows, after the lease was answered. Memory is what Linux counts as resident, compared from the third large batch on.',
    quick: flags.quick,
    environment,
    parameters: { rows, ...size, batches, small, 'tokens of a small row': SMALL_SIZE.tokens },
    table: {
      columns: ['batch', 'first byte, ms', 'rows, MB', 'MB/s', 'resident, MB'],
      rows: large.map((one, at) => [
        ...[
          String(at + 1),
          one.firstByteMs.toFixed(1),
          one.megabytes.toFixed(1),
          whole(one.megabytes / one.seconds),
          whole(one.residentMb),
        ],
      ]),
    },
    targets: [
      {
        what: 'lease to first byte',
        wanted: `under ${TARGETS.firstByteMs} ms`,
        found: `${firstByteMs.toFixed(1)} ms`,
        met: firstByteMs < TARGETS.firstByteMs,
      },
      { what: 'rows over HTTP', wanted: `${TARGETS.rowsMb} MB/s`, found: `${whole(rate)} MB/s`, met: rate >= TARGETS.rowsMb },
      { what: 'growth of memory', wanted: `at most ${TARGETS.grownMb} MB`, found: `${whole(grown)} MB`, met: grown <= TARGETS.grownMb },
      {
        what: 'small leases and commits',
        wanted: `${TARGETS.leases} a minute`,
        found: `${whole(few.aMinute)} a minute`,
        met: few.aMinute >= TARGETS.leases,
      },
      { what: 'commit, p50', wanted: `under ${TARGETS.commitMs} ms`, found: `${commitMs.toFixed(1)} ms`, met: commitMs < TARGETS.commitMs },
    ],
    figures: { large, small: { ...few, p95: percentile(few.commitMs, 0.95) } },
  };
}

async function main(): Promise<void> {
  const environment = describeEnvironment();
  const [large, few] = await withSite(async (site) => {
    const kafka = await site.connect('leases');
    await writeSyntheticQuestions(await kafka.writer(), 64);
    return [await largeBatches({ site, kafka }), await smallBatches({ site, kafka })] as const;
  });
  if (!(await publish(reportOf(large, few, environment), flags.out))) process.exitCode = flags.quick ? 0 : 1;
}

if (flags.help) {
  process.stdout.write(
    'npm run bench leases -- [--rows 256] [--tokens 4096] [--turns 8] [--batches 12] [--small 1000] [--out DIR] [--quick]\n',
  );
} else {
  await main();
}
