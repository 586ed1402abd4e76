// Tests whether the cost of a start depends on the run or on the namespace: the time that a new run takes, alone and among many entries of
// other runs, and the time and memory of a run that resumes after thousands of large steps. `npm run bench start`
import { parseArgs } from 'node:util';
import { SYNTHETIC_DATASET } from '../../producers/load/load.ts';
import { createEventReader } from '../registry/event-reader.ts';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { readBegun, writeForeign, writeSteps } from './start-ledger.ts';
import { median } from './statistics.ts';
import { writeSyntheticQuestions } from './synthetic-questions.ts';
import { startTrainer, type WatchedTrainer } from './trainer-child.ts';

const { values: flags } = parseArgs({
  options: {
    entries: { type: 'string', default: '500000' },
    steps: { type: 'string', default: '5000' },
    groups: { type: 'string', default: '128' },
    rounds: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '30' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const SAMPLES = 16;
const MS_OF_TARGET = 500;
const BYTES_OF_TARGET = 1.2e9;
const LIMIT_MS = 300_000;
const SETTINGS = {
  TURNSTREAM_GROUP_SIZE: '16',
  TURNSTREAM_BATCH_GROUPS: '128',
  TURNSTREAM_MAX_CONCURRENT: '4',
  TURNSTREAM_SILENCE_MS: '3600000',
};

const entries = flags.quick ? 20_000 : Number(flags.entries);
const length = { steps: flags.quick ? 50 : Number(flags.steps), groups: flags.quick ? 16 : Number(flags.groups), samples: SAMPLES };

interface Resumed {
  readonly liveMs: number;
  readonly peak: number;
  readonly bytes: number;
}

interface StartResults {
  /** Time until live, ms, of each round. */
  readonly alone: readonly number[];
  readonly beside: readonly number[];
  readonly resumed: Resumed;
}

async function start(site: BenchSite, namespace: string, run: string): Promise<WatchedTrainer> {
  site.signal.throwIfAborted();
  const { brokers, dataDir } = site;
  const trainer = await startTrainer({ brokers, dataDir, namespace, run, dataset: SYNTHETIC_DATASET, settings: SETTINGS });
  site.defer(() => trainer.stop());
  return trainer;
}

const untilLive = (trainer: WatchedTrainer): Promise<number> => trainer.until('a live trainer', ({ state }) => state === 'live', LIMIT_MS);

async function startNew(site: BenchSite, namespace: string, run: string): Promise<number> {
  const trainer = await start(site, namespace, run);
  const liveMs = await untilLive(trainer);
  await trainer.stop();
  return liveMs;
}

async function newRuns(site: BenchSite): Promise<Pick<StartResults, 'alone' | 'beside'>> {
  for (const namespace of ['alone', 'beside']) {
    const kafka = await site.connect(namespace);
    const writer = await kafka.writer();
    await writeSyntheticQuestions(writer, 64);
    if (namespace === 'beside') await writeForeign(writer, entries);
  }
  say(`${whole(entries)} entries of other runs`);
  const found: { readonly alone: number[]; readonly beside: number[] } = { alone: [], beside: [] };
  // an unmeasured start, so that the program is in the caches of the machine
  await startNew(site, 'alone', 'first');
  for (let round = 1; round <= Number(flags.rounds); round += 1) {
    for (const namespace of round % 2 === 0 ? (['alone', 'beside'] as const) : (['beside', 'alone'] as const)) {
      const liveMs = await startNew(site, namespace, `new-${round}`);
      found[namespace].push(liveMs);
      say(`a new run, ${namespace}: ${whole(liveMs)} ms`);
    }
  }
  return found;
}

async function resume(site: BenchSite): Promise<Resumed> {
  const [namespace, run] = ['long', 'long'];
  const kafka = await site.connect(namespace);
  const writer = await kafka.writer();
  await writeSyntheticQuestions(writer, 64);
  const first = await start(site, namespace, run);
  await first.until('admission', ({ figures }) => figures['running'] === 4, LIMIT_MS);
  await first.stop();
  const begun = await readBegun(kafka.reader(), createEventReader(site.codec, { byId: async () => undefined }), run);
  const bytes = await writeSteps(writer, begun, length);
  say(`${whole(length.steps)} steps of ${length.groups * SAMPLES} trajectories, ${whole(bytes / 1e6)} MB`);
  const trainer = await start(site, namespace, run);
  const liveMs = await trainer.until('the step', ({ state, figures }) => state === 'live' && figures['step'] === length.steps, LIMIT_MS);
  const { peak } = trainer.use();
  await trainer.stop();
  return { liveMs, peak, bytes };
}

function reportOf({ alone, beside, resumed }: StartResults): BenchReport {
  const [aloneMs, besideMs] = [median(alone), median(beside)];
  const ms = (value: number): string => `${whole(value)} ms`;
  const gigabytes = (value: number): string => `${(value / 1e9).toFixed(2)} GB`;
  const many = `${whole(length.steps)} steps of ${whole(length.groups * SAMPLES)} trajectories`;
  return {
    name: 'start',
    title: 'What a start costs',
    method:
      'A real trainer process against a local broker, from its start to the state live. New runs take turns in an otherwise empty namespace and in one that holds entries of 1,000 other runs in `training`. The long run is begun by a real trainer; then the entries of its steps are appended, two per step, as a trainer writes them, and another trainer resumes it. Memory is the highest resident set that the system reports.',
    quick: flags.quick,
    environment: describeEnvironment(),
    parameters: { entries, steps: length.steps, groups: length.groups, samples: SAMPLES, rounds: flags.rounds },
    table: {
      columns: ['start', 'beside', 'until live', 'peak memory'],
      rows: [
        ['a new run', 'nothing', ms(aloneMs), ''],
        ['a new run', `${whole(entries)} entries of others`, ms(besideMs), ''],
        [`resumed after ${many}`, `its own ${gigabytes(resumed.bytes)}`, ms(resumed.liveMs), gigabytes(resumed.peak)],
      ],
    },
    targets: [
      {
        what: 'a new run beside many entries, less one beside none',
        wanted: `under ${ms(MS_OF_TARGET)}`,
        found: ms(besideMs - aloneMs),
        met: besideMs - aloneMs < MS_OF_TARGET,
      },
      {
        what: 'memory of a resumed long run',
        wanted: `under ${gigabytes(BYTES_OF_TARGET)}`,
        found: gigabytes(resumed.peak),
        met: resumed.peak < BYTES_OF_TARGET,
      },
    ],
    figures: { alone, beside, resumed },
  };
}

if (flags.help) {
  process.stdout.write(
    'npm run bench start -- [--entries 500000] [--steps 5000] [--groups 128] [--rounds 5] [--minutes 30] [--out dir] [--quick]\n',
  );
} else {
  const limit = setTimeout(() => process.kill(process.pid, 'SIGTERM'), Number(flags.minutes) * 60_000);
  const results = await withSite(async (site): Promise<StartResults> => ({ ...(await newRuns(site)), resumed: await resume(site) }));
  if (!(await publish(reportOf(results), flags.out))) process.exitCode = flags.quick ? 0 : 1;
  clearTimeout(limit);
}
