// What does it gain not to wait? The same run in sync mode (a batch is asked for, waited for and trained on) and in async
// mode, one after the other on this machine, for equal wall clock and with the same number of trajectories at once. Tools
// and generations are as slow as a log-normal MODEL makes them; the trainer, the log and the policy are real.
// `npm run bench modes`
import { spawn, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { waitUntilDrained } from '../app/drain.ts';
import { connectWarehouse } from '../app/connections.ts';
import { readServices, type ServicesFile } from '../app/services-file.ts';
import { loadConfig } from '../config/load.ts';
import { createLogger } from '../telemetry/logger.ts';
import { describeEnvironment } from './environment.ts';
import { openHome, program, type BenchHome } from './home.ts';
import { say } from './local-bench.ts';
import { publish } from './report.ts';
import { median } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seeds: { type: 'string', default: '1,2,3' },
    generation: { type: 'string', default: '400' },
    tool: { type: 'string', default: '100' },
    sigma: { type: 'string', default: '0.75' },
    staleness: { type: 'string', default: '4' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const GROUP = 8;
const BATCH = 8;
/** As many as a batch has: a mode that waits has a slot for each of them, one that does not has no more. */
const AT_ONCE = GROUP * BATCH;
const LAST_STEPS = 10;
const GAIN_WANTED = 2;
const START_MS = 300_000;

type Mode = 'sync' | 'async';

interface Figures {
  readonly mode: Mode;
  readonly seed: number;
  readonly steps: number;
  readonly stepsPerHour: number;
  readonly trainerIdle: number;
  readonly workerIdle: number;
  readonly stalenessMean: number;
  readonly stalenessMax: number;
  /** Mean over the last steps of the time that both had. */
  readonly reward: number;
  /** Groups that were asked for, by those that were trained on. */
  readonly asked: number;
}

async function bench(): Promise<boolean> {
  const environment = describeEnvironment();
  const minutes = flags.quick ? 1 : Number(flags.minutes);
  const seeds = flags.quick ? [1] : flags.seeds.split(',').map(Number);
  const all: Figures[] = [];
  for (const seed of seeds) {
    for (const mode of ['sync', 'async'] as const) {
      all.push(await measure(mode, seed, minutes * 60_000));
      say(`${mode} ${seed}: ${JSON.stringify(all.at(-1))}`);
    }
  }
  return report(all, environment, minutes);
}

/** One run in a directory of its own. */
async function measure(mode: Mode, seed: number, forMs: number): Promise<Figures> {
  const home = await openHome(settings);
  const child = startUp(home, mode, seed);
  const ended = new Promise<unknown>((resolve) => child.once('exit', resolve));
  try {
    const services = await servicesOf(home.dir, child);
    return await readFigures(services, { mode, seed, forMs, child, dataDir: home.dir });
  } finally {
    child.kill('SIGINT');
    await ended;
    await home.remove();
  }
}

const settings = {
  TURNSTREAM_GROUP_SIZE: String(GROUP),
  TURNSTREAM_BATCH_GROUPS: String(BATCH),
  TURNSTREAM_WORKER_CONCURRENCY: String(AT_ONCE),
  TURNSTREAM_MAX_STALENESS: flags.staleness,
  TURNSTREAM_HEARTBEAT_MS: '1000',
  TURNSTREAM_LATENCY_MODEL: 'log-normal',
  TURNSTREAM_LATENCY_GENERATION_MS: flags.generation,
  TURNSTREAM_LATENCY_TOOL_MS: flags.tool,
  TURNSTREAM_LATENCY_SIGMA: flags.sigma,
} as const;

function startUp({ dir, env }: BenchHome, mode: Mode, seed: number): ChildProcess {
  const log = openSync(join(dir, 'up.log'), 'a');
  const args = [program, 'up', '--run', mode, '--mode', mode, '--seed', String(seed), '--no-eval'];
  return spawn(process.execPath, args, { stdio: ['ignore', log, log], env });
}

async function servicesOf(dir: string, child: ChildProcess): Promise<ServicesFile> {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline;) {
    await sleep(200);
    if (child.exitCode !== null) throw new Error(`turnstream up ended with ${child.exitCode}`);
    const services = readServices(dir);
    if (services !== undefined && services.apiUrl !== '') return services;
  }
  throw new Error('turnstream up did not start');
}

interface Measured {
  readonly mode: Mode;
  readonly seed: number;
  readonly forMs: number;
  readonly child: ChildProcess;
  /** Has the password of the store. */
  readonly dataDir: string;
}

/** Lets it run for as long as asked, counted from the first record of the run, and reads the tables up to that moment. */
async function readFigures(services: ServicesFile, { mode, seed, forMs, child, dataDir }: Measured): Promise<Figures> {
  const { kafkaBrokers, clickhouseUrl } = services;
  const config = loadConfig({}, { dataDir, kafkaBrokers, clickhouseUrl });
  const store = connectWarehouse(config, 'bench');
  try {
    const began = await firstRecord(store, mode, child);
    await sleep(Math.max(0, began + forMs - Date.now()));
    await waitUntilDrained(config, createLogger({ level: 'error', role: 'bench' }), new AbortController().signal);
    const params = { run: mode, until: (began + forMs) / 1_000, last: LAST_STEPS };
    const [steps] = await store.query<Omit<Figures, 'mode' | 'seed' | 'workerIdle' | 'asked'>>(STEPS_SQL, { params });
    const [workers] = await store.query<{ workerIdle: number; asked: number }>(WORKERS_SQL, { params });
    if (steps === undefined || workers === undefined) throw new Error('the tables have nothing');
    return { mode, seed, ...steps, ...workers, stepsPerHour: (steps.steps * 3_600_000) / forMs };
  } finally {
    await store.close();
  }
}

const STEPS_SQL = `
  select
    toInt32(count()) as steps,
    sum(wait_ms) / sum(wait_ms + train_ms) as trainerIdle,
    avg(staleness_mean) as stalenessMean,
    max(staleness_max) as stalenessMax,
    arrayAvg(arraySlice(arraySort(groupArray((step, reward_mean))), -{last:Int32}).2) as reward
  from steps where run_id = {run:String} and at <= fromUnixTimestamp64Milli(toInt64({until:Float64} * 1000))`;

const WORKERS_SQL = `
  select
    (select 1 - sum(running) / sum(capacity) from heartbeats
     where run_id = {run:String} and occurred_at <= fromUnixTimestamp64Milli(toInt64({until:Float64} * 1000))) as workerIdle,
    (select sum(groups) from admissions where run_id = {run:String}) / (select sum(groups) from steps where run_id = {run:String}) as asked`;

async function firstRecord(store: ReturnType<typeof connectWarehouse>, run: string, child: ChildProcess): Promise<number> {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline;) {
    await sleep(500);
    if (child.exitCode !== null) throw new Error(`turnstream up ended with ${child.exitCode}`);
    const [found] = await store.query<{ ms: number }>(
      `select toUnixTimestamp64Milli(toDateTime64(min(at), 3)) / 1 as ms from run_events where run_id = {run:String} having count() > 0`,
      { params: { run } },
    );
    if (found !== undefined) return found.ms;
  }
  throw new Error('the run did not start');
}

async function report(all: readonly Figures[], environment: ReturnType<typeof describeEnvironment>, minutes: number): Promise<boolean> {
  const of = (mode: Mode, name: keyof Figures): number[] => all.filter((one) => one.mode === mode).map((one) => Number(one[name]));
  const gains = of('async', 'stepsPerHour').map((value, at) => value / (of('sync', 'stepsPerHour')[at] ?? NaN));
  const rewards = of('async', 'reward').map((value, at) => value - (of('sync', 'reward')[at] ?? NaN));
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  return publish(
    {
      name: 'modes',
      title: 'Asynchronous against batch generation, with modelled latencies',
      method: [
        'Two whole runs a seed, one after the other, at the same settings and for the same wall clock from the first record of each:',
        'sync asks for a batch, waits for all of it and trains; async asks ahead. Both keep the same number of trajectories at once at most.',
        `Latencies are a log-normal MODEL (mean ${flags.generation} ms a generation, ${flags.tool} ms a tool call, sigma ${flags.sigma}, one factor a trajectory), not measured ones;`,
        'everything else is real. Groups of equal rewards are discarded and replaced in both, which sync waits for once more.',
      ].join(' '),
      quick: flags.quick,
      environment,
      parameters: { minutes, group: GROUP, batch: BATCH, atOnce: AT_ONCE, 'max staleness (async)': flags.staleness },
      table: {
        columns: [
          'mode',
          'seed',
          'steps',
          'steps/hour',
          'trainer idle',
          'workers idle',
          'staleness mean',
          'worst',
          'reward, last 10 steps',
          'groups asked a group trained',
        ],
        rows: all.map((one) => [
          ...[
            one.mode,
            String(one.seed),
            String(one.steps),
            one.stepsPerHour.toFixed(0),
            percent(one.trainerIdle),
            percent(one.workerIdle),
          ],
          ...[one.stalenessMean.toFixed(2), one.stalenessMax.toFixed(0), one.reward.toFixed(3), one.asked.toFixed(2)],
        ]),
      },
      targets: [
        {
          what: 'steps per hour, async by sync (median)',
          wanted: `at least ${GAIN_WANTED}`,
          found: median(gains).toFixed(2),
          met: median(gains) >= GAIN_WANTED,
        },
        {
          what: 'reward at equal wall clock, async - sync (median)',
          wanted: 'not below 0',
          found: median(rewards).toFixed(3),
          met: median(rewards) >= 0,
        },
      ],
      figures: all,
    },
    flags.out,
  );
}

if (flags.help) {
  process.stdout.write(
    'npm run bench modes [-- --minutes 10 --seeds 1,2,3 --generation 400 --tool 100 --sigma 0.75 --staleness 4 --quick --out DIR]\n',
  );
} else {
  process.exitCode = (await bench()) ? 0 : 1;
}
