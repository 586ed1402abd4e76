// Tests whether a trainer's memory stays constant, and measures its transactions: a synthetic fleet answers the requests of a real trainer
// at a steady rate for a long time; each step is one transaction of 256 trajectories. `npm run bench steady`
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createFleet, type SyntheticFleet } from '../../producers/load/fleet.ts';
import { SYNTHETIC_DATASET } from '../../producers/load/load.ts';
import { defaultShape, type LoadShape } from '../../producers/load/shape.ts';
import { RANKER_WIDTH } from '../../producers/rollouts/policies/ranker/features.ts';
import type { EventWriter, OutgoingEvent } from '../../streams/core/ports.ts';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import type { KafkaConnection } from '../kafka/connect.ts';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { median, percentile } from './statistics.ts';
import { askedOf, type AskedTask } from './synthetic-answers.ts';
import { writeSyntheticQuestions } from './synthetic-questions.ts';
import { startTrainer, type WatchedTrainer } from './trainer-child.ts';

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    'warm-up-minutes': { type: 'string', default: '10' },
    rate: { type: 'string', default: '2000' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const RUN = 'synthetic-steady';
const NAMESPACE = 'steady';
const TICK_MS = 25;
const SAMPLE_MS = 1_000;
const LIMIT_MS = 120_000;
const GROWTH_OF_TARGET = 0.05;
const P50_OF_TARGET = 25;
const P99_OF_TARGET = 150;

const minutes = flags.quick ? 0.5 : Number(flags.minutes);
const warmUpMinutes = flags.quick ? 0.1 : Number(flags['warm-up-minutes']);
const rate = Number(flags.rate);

/** 32 groups of 8 are 256 trajectories per step; lost attempts are retried after their time limit. */
const settings = {
  TURNSTREAM_GROUP_SIZE: '8',
  TURNSTREAM_BATCH_GROUPS: '32',
  TURNSTREAM_MAX_CONCURRENT: '160',
  TURNSTREAM_MAX_STALENESS: '8',
  TURNSTREAM_MAX_WALL_MS: '120000',
  TURNSTREAM_SILENCE_MS: '120000',
  TURNSTREAM_PARTITIONS_ROLLOUTS: '8',
} as const;

const shape: LoadShape = { ...defaultShape, maxTurns: 64, decision: { candidates: 12, width: RANKER_WIDTH } };

interface SteadySamples {
  /** Resident bytes at each second, with the seconds since the warm-up. */
  readonly resident: { readonly s: number; readonly bytes: number }[];
  readonly commitMs: number[];
  steps: number;
  turns: number;
}

/** Requests of the run as they appear, in FIFO order. */
async function followTasks({ kafka, site }: SteadyStage): Promise<AskedTask[]> {
  const waiting: AskedTask[] = [];
  const following = await kafka.reader().follow({
    topics: ['tasks'],
    from: [],
    otherwise: 'first',
    onBatch: ({ records }) => {
      for (const record of records) {
        const asked = askedOf(record, site.codec, RUN);
        if (asked !== undefined) waiting.push(asked);
      }
    },
    onError: (error) => {
      site.logger.error({ err: error }, 'following the tasks');
    },
  });
  site.defer(() => following.close());
  return waiting;
}

interface SteadyStage {
  readonly site: BenchSite;
  readonly kafka: KafkaConnection;
  readonly trainer: WatchedTrainer;
}

/** Events with up to `turns` turns. */
function portionOf(fleet: SyntheticFleet, waiting: AskedTask[], turns: number): readonly OutgoingEvent[] {
  const events: OutgoingEvent[] = [];
  for (let taken = 0; taken < turns;) {
    while (fleet.free > 0 && waiting.length > 0) {
      const asked = waiting.shift();
      if (asked !== undefined) fleet.begin({ ...asked, unfinished: false });
    }
    const event = fleet.next();
    if (event === undefined) break;
    if (event.type === 'TurnRecorded') taken += 1;
    events.push(event);
  }
  return events;
}

/** Writes at the given rate until the time is over; a late tick catches up. */
async function drive(stage: SteadyStage, writer: EventWriter, seen: SteadySamples): Promise<void> {
  const waiting = await followTasks(stage);
  const versionAt = (): number => stage.trainer.newest()?.figures['step'] ?? 0;
  const fleet = createFleet({ shape, places: 1_280, workers: 32, startMs: Date.now(), versionAt });
  const began = performance.now();
  const warmMs = warmUpMinutes * 60_000;
  const endMs = warmMs + minutes * 60_000;
  let [sampledMs, owed, lastMs] = [0, 0, 0];
  for (let now = 0; now < endMs; now = performance.now() - began) {
    stage.site.signal.throwIfAborted();
    owed = Math.min(rate, owed + ((now - lastMs) * rate) / 1_000);
    lastMs = now;
    const portion = portionOf(fleet, waiting, Math.floor(owed));
    const turns = portion.filter(({ type }) => type === 'TurnRecorded').length;
    owed -= turns;
    if (portion.length > 0) await writer.append(portion);
    if (now >= warmMs) seen.turns += turns;
    if (now >= warmMs && now - sampledMs >= SAMPLE_MS) {
      sampledMs = now;
      seen.resident.push({ s: (now - warmMs) / 1_000, bytes: stage.trainer.use().resident });
    }
    await sleep(Math.max(0, TICK_MS - (performance.now() - began - now)), undefined, { signal: stage.site.signal });
  }
}

/** Records every step that the status reports; of two within 200 ms it reports only the newer one. */
function watchSteps(seen: SteadySamples) {
  let newest = 0;
  return ({ figures }: RoleStatus): void => {
    const step = figures['step'] ?? 0;
    if (step <= newest) return;
    newest = step;
    if (seen.resident.length === 0) return;
    seen.steps += 1;
    seen.commitMs.push(figures['commit_ms'] ?? NaN);
    if (step % 100 === 0) say(`step ${step}: ${whole((seen.resident.at(-1)?.bytes ?? NaN) / 1e6)} MB resident`);
  };
}

/** Medians of the first and of the last fifth: garbage collection makes single samples too noisy. */
function growthOf({ resident }: SteadySamples): { readonly first: number; readonly last: number; readonly share: number } {
  const fifth = Math.max(1, Math.floor(resident.length / 5));
  const first = median(resident.slice(0, fifth).map(({ bytes }) => bytes));
  const last = median(resident.slice(-fifth).map(({ bytes }) => bytes));
  return { first, last, share: last / first - 1 };
}

function reportOf(seen: SteadySamples, environment: BenchReport['environment']): BenchReport {
  const growth = growthOf(seen);
  const [p50, p99] = [percentile(seen.commitMs, 0.5), percentile(seen.commitMs, 0.99)];
  const megabytes = (bytes: number): string => `${whole(bytes / 1e6)} MB`;
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const pace = seen.turns / (minutes * 60);
  return {
    name: 'steady',
    title: 'Steady load: memory and transactions of a trainer',
    method:
      'A real trainer (`turnstream trainer`) on a real broker of the same machine. A synthetic fleet in the process of the bench answers its requests at a steady rate, 1 % faults included, with the decisions of a policy to learn from; ' +
      'every step trains 256 trajectories (32 groups of 8). Memory is what Linux counts as resident, once a second after a warm-up, the median of the first fifth against that of the last. ' +
      'A transaction is timed by the trainer from its first produce request to the answer of EndTxn: the step, its discards, the new policy with its weights, new requests and the input offsets.',
    quick: flags.quick,
    environment,
    parameters: { minutes, 'warm-up minutes': warmUpMinutes, 'turns a second': rate, 'turn bytes': shape.turnBytes, partitions: 8 },
    table: {
      columns: ['turns a second', 'steps', 'resident, first fifth', 'last fifth', 'transaction p50', 'p99', 'worst'],
      rows: [
        [
          ...[whole(pace), whole(seen.steps), megabytes(growth.first), megabytes(growth.last)],
          ...[p50, p99, Math.max(...seen.commitMs)].map((ms) => `${whole(ms)} ms`),
        ],
      ],
    },
    targets: [
      { what: 'the rate was reached', wanted: `${whole(rate)} turns/s`, found: whole(pace), met: pace > rate * 0.99 },
      {
        what: 'growth of memory',
        wanted: `under ${percent(GROWTH_OF_TARGET)}`,
        found: percent(growth.share),
        met: growth.share < GROWTH_OF_TARGET,
      },
      { what: 'transaction p50', wanted: `under ${P50_OF_TARGET} ms`, found: `${whole(p50)} ms`, met: p50 < P50_OF_TARGET },
      { what: 'transaction p99', wanted: `under ${P99_OF_TARGET} ms`, found: `${whole(p99)} ms`, met: p99 < P99_OF_TARGET },
    ],
    figures: { growth, pace, steps: seen.steps, commitMs: seen.commitMs, resident: seen.resident.filter((_, i) => i % 10 === 0) },
  };
}

async function main(): Promise<void> {
  const environment = describeEnvironment();
  const seen: SteadySamples = { resident: [], commitMs: [], steps: 0, turns: 0 };
  await withSite(async (site) => {
    const kafka = await site.connect(NAMESPACE);
    const writer = await kafka.writer();
    await writeSyntheticQuestions(writer, 64);
    const { brokers, dataDir } = site;
    const trainer = await startTrainer({ brokers, dataDir, namespace: NAMESPACE, run: RUN, dataset: SYNTHETIC_DATASET, settings });
    site.defer(() => trainer.stop());
    trainer.watch(watchSteps(seen));
    await trainer.until('admission', ({ figures }) => (figures['running'] ?? 0) > 0, LIMIT_MS);
    await drive({ site, kafka, trainer }, writer, seen);
  });
  if (!(await publish(reportOf(seen, environment), flags.out))) process.exitCode = flags.quick ? 0 : 1;
}

if (flags.help) {
  process.stdout.write('npm run bench steady -- [--minutes 30] [--warm-up-minutes 10] [--rate 2000] [--out dir] [--quick]\n');
} else {
  await main();
}
