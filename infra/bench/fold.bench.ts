// Measures how fast turns are folded into groups that can be trained on: from an 8-partition topic of a real broker, compared with the
// minimum cost of any reader in JavaScript: plain kafkajs that only counts, and that only decodes. `npm run bench fold -- --records
// 5000000`
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { FoldJob, FoldMeasure } from './fold-job.ts';
import { prepareFoldTopic, type FoldTopic } from './fold-topic.ts';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { median, spread } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    records: { type: 'string', default: '5000000' },
    'heavy-records': { type: 'string', default: '2000000' },
    rounds: { type: 'string', default: '3' },
    minutes: { type: 'string', default: '45' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const MODES = ['count', 'decode', 'fold'] as const;
type FoldMode = (typeof MODES)[number];
const TARGET = 0.7;

const what: Readonly<Record<FoldMode, string>> = {
  count: 'kafkajs eachBatch, counting',
  decode: 'kafkajs eachBatch, decoding with avsc',
  fold: 'turnstream, to groups ready to train on',
};

interface SizeResult {
  readonly turnBytes: number;
  readonly topic: FoldTopic;
  readonly measures: Readonly<Record<FoldMode, readonly FoldMeasure[]>>;
}

const ratesOf = (measures: readonly FoldMeasure[]): readonly number[] => measures.map(({ records, seconds }) => records / seconds);
const perCpuSecond = (measures: readonly FoldMeasure[]): readonly number[] =>
  measures.map(({ records, cpuSeconds }) => records / cpuSeconds);

/** One measurement per process, so that measurements do not influence each other. */
async function measure(job: FoldJob, signal: AbortSignal): Promise<FoldMeasure> {
  const file = fileURLToPath(
    new URL(`./${job.mode === 'fold' ? 'fold-trainer' : 'fold-bare'}.process${extname(import.meta.url)}`, import.meta.url),
  );
  const child = fork(file, [JSON.stringify(job)], { execArgv: process.execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop);
  const answers: FoldMeasure[] = [];
  child.on('message', (message) => void answers.push(message as FoldMeasure));
  const [code] = (await once(child, 'exit')) as [number | null];
  signal.removeEventListener('abort', stop);
  const [answer] = answers;
  if (code !== 0 || answer === undefined) throw new Error(`measuring ${job.mode}: the reader ended with code ${code ?? 'none'}`);
  return answer;
}

async function measureSize(site: BenchSite, turnBytes: number, records: number): Promise<SizeResult> {
  say(`writing ${whole(records)} records with turns of ${turnBytes} bytes`);
  const topic = await prepareFoldTopic(site, { turnBytes, records });
  const measures: Record<FoldMode, FoldMeasure[]> = { count: [], decode: [], fold: [] };
  const job = (mode: FoldMode): FoldJob => ({ mode, brokers: site.brokers, topic });
  await measure(job('count'), site.signal); // warms the broker and the page cache
  for (let round = 1; round <= Number(flags.rounds); round += 1) {
    for (const mode of MODES) {
      site.signal.throwIfAborted();
      const found = await measure(job(mode), site.signal);
      if (found.records !== topic.records) throw new Error(`${mode} saw ${found.records} of ${topic.records} records`);
      if (mode === 'fold' && found.ready !== topic.readyGroups) {
        throw new Error(`the fold found ${found.ready} ready groups, ${topic.readyGroups} were written`);
      }
      measures[mode].push(found);
      say(
        `${turnBytes} B round ${round}: ${mode} ${whole(found.records / found.seconds)}/s, ${whole(found.records / found.cpuSeconds)} a CPU second`,
      );
    }
  }
  return { turnBytes, topic, measures };
}

function reportOf(results: readonly SizeResult[], environment: BenchReport['environment']): BenchReport {
  const ratio = ({ measures }: SizeResult): number => median(ratesOf(measures.fold)) / median(ratesOf(measures.decode));
  return {
    name: 'fold',
    title: 'The fold: from the topic to groups that are ready',
    method:
      'A real Apache Kafka on the same machine, one topic of 8 partitions, records as `turnstream load` writes them (CloudEvents headers included, 1 % faults). ' +
      'Each measurement is a process of its own that reads the whole topic, timed from its first batch to its last record; the three readers take turns, after one read that is not counted. ' +
      'The fold is that of the trainer: log reader, decoding through its view, attempts, trajectories, groups; its ready groups are counted and compared with what was written. ' +
      'A record is a turn, or the start or end of an attempt.',
    quick: flags.quick,
    environment,
    parameters: { rounds: flags.rounds, records: results.map(({ topic }) => whole(topic.records)).join(' and ') },
    table: {
      columns: ['reader', ...results.flatMap(({ turnBytes }) => [`${turnBytes} B, records/s`, 'spread', 'of decoding', 'a CPU second'])],
      rows: MODES.map((mode) => [
        what[mode],
        ...results.flatMap(({ measures }) => [
          whole(median(ratesOf(measures[mode]))),
          `${(spread(ratesOf(measures[mode])) * 100).toFixed(0)} %`,
          (median(ratesOf(measures[mode])) / median(ratesOf(measures.decode))).toFixed(2),
          whole(median(perCpuSecond(measures[mode]))),
        ]),
      ]),
    },
    targets: results.map((result) => ({
      what: `fold / decoding, turns of ${result.turnBytes} B`,
      wanted: `at least ${TARGET}`,
      found: ratio(result).toFixed(2),
      met: ratio(result) >= TARGET,
    })),
    figures: results,
  };
}

async function main(): Promise<void> {
  const environment = describeEnvironment();
  const [light, heavy] = flags.quick ? [100_000, 50_000] : [Number(flags.records), Number(flags['heavy-records'])];
  const results = await withSite(async (site) => [await measureSize(site, 300, light), await measureSize(site, 2_000, heavy)]);
  if (!(await publish(reportOf(results, environment), flags.out))) process.exitCode = flags.quick ? 0 : 1;
}

if (flags.help) {
  process.stdout.write(
    'npm run bench fold -- [--records 5000000] [--heavy-records 2000000] [--rounds 3] [--minutes 45] [--out dir] [--quick]\n',
  );
} else {
  const limit = setTimeout(() => process.kill(process.pid, 'SIGTERM'), Number(flags.minutes) * 60_000);
  await main();
  clearTimeout(limit);
}
