// A long run from its start: steps, disk and the memory of every process over time, then the restart after everything was killed, and the
// audit of the whole log. `npm run bench long`, then `npm run bench pages` on the kept data directory.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { measureDisk, type DiskUse } from '../lifecycle/disk-use.ts';
import { describeEnvironment } from './environment.ts';
import { openHome, type BenchHome } from './home.ts';
import { say } from './local-bench.ts';
import { startLongRun, type LongRun } from './long-run.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { median } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    steps: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    every: { type: 'string', default: '5' },
    keep: { type: 'boolean', default: false },
    kept: { type: 'string' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run bench long [-- --steps 2000 --seed 1 --every 5 --keep --kept DIR --quick --out DIR]
--every: minutes between two rows. --keep: leave the data directory, for \`npm run bench pages\`. --kept: measure only restart and audit
again, on such a directory.
`;

const RUN = 'long';
const NAMESPACE = 'turnstream';
const LOOKS = 'looks.json';
const RESTARTS = 5;
const STEPS_BETWEEN = 10;
const EXTRA_STEPS = 1_000;
const [STEP_MB, RESTART_MS, AUDIT_MS] = [3, 20_000, 300_000];
/** Memory growth of a process that still counts as flat: it may be garbage that is not collected yet. */
const GROWTH_MB = 200;
const steps = flags.quick ? 6 : Number(flags.steps);
const RESTART_LIMIT_MS = 120_000;
const everyMs = flags.quick ? 5_000 : Number(flags.every) * 60_000;

interface Look {
  readonly minutes: number;
  readonly steps: number;
  readonly disk: DiskUse | undefined;
  readonly rssMb: Readonly<Record<string, number>>;
}

interface Found {
  readonly looks: readonly Look[];
  readonly restartsMs: readonly number[];
  readonly auditMs: number;
  readonly audit: { readonly ok: boolean; readonly records: number };
}

/** Resident memory of a process; 0 when it is gone. */
function rssMbOf(pid: number): number {
  try {
    const [, kb = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kb) / 1_000);
  } catch {
    return 0;
  }
}

async function look(home: BenchHome, run: LongRun, beganMs: number): Promise<Look> {
  const found: Look = {
    minutes: (performance.now() - beganMs) / 60_000,
    steps: run.steps.count(),
    disk: await measureDisk(home.dir, NAMESPACE),
    rssMb: Object.fromEntries(Object.entries(run.pids()).map(([name, pid]) => [name, rssMbOf(pid)])),
  };
  say(JSON.stringify(found));
  return found;
}

async function watch(home: BenchHome): Promise<readonly Look[]> {
  const beganMs = performance.now();
  const run = await startLongRun(home, ['--run', RUN, '--seed', flags.seed, '--steps', String(steps)]);
  const looks: Look[] = [];
  let nextMs = everyMs;
  while (run.steps.count() < steps) {
    await sleep(200);
    if (performance.now() - beganMs < nextMs) continue;
    looks.push(await look(home, run, beganMs));
    nextMs += everyMs;
  }
  looks.push(await look(home, run, beganMs));
  await run.finished();
  writeFileSync(join(home.dir, LOOKS), JSON.stringify(looks));
  return looks;
}

/** Extends the finished run. Then, several times, kills every process with SIGKILL and measures from the next start to the next step. */
async function restarts(home: BenchHome): Promise<readonly number[]> {
  const more = ['--run', RUN, '--steps', String(steps + EXTRA_STEPS), '--no-eval'];
  const found: number[] = [];
  let run = await startLongRun(home, more);
  await committedAfter(run, Date.now());
  while (found.length < RESTARTS) {
    await madeMore(run);
    await run.killAll();
    const startedMs = Date.now();
    run = await startLongRun(home, more);
    found.push((await committedAfter(run, startedMs)) - startedMs);
    say(`next step ${found.at(-1)} ms after the start`);
  }
  await run.stop();
  return found;
}

/** Waits for steady state. */
async function madeMore({ steps: committed }: LongRun): Promise<void> {
  const until = committed.count() + STEPS_BETWEEN;
  while (committed.count() < until) await sleep(20);
}

async function committedAfter({ steps: committed }: LongRun, ms: number): Promise<number> {
  const deadline = Date.now() + RESTART_LIMIT_MS;
  while (committed.newestMs() <= ms) {
    if (Date.now() > deadline) throw new Error(`waiting for the next step: none within ${RESTART_LIMIT_MS} ms`);
    await sleep(20);
  }
  return committed.newestMs();
}

async function measure(home: BenchHome): Promise<Found> {
  const looks = flags.kept === undefined ? await watch(home) : (JSON.parse(readFileSync(join(home.dir, LOOKS), 'utf8')) as readonly Look[]);
  const restartsMs = await restarts(home);
  const began = performance.now();
  const audit = JSON.parse(await home.command('audit', '--json')) as Found['audit'];
  return { looks, restartsMs, auditMs: performance.now() - began, audit };
}

/** The parts of the data directory that the disk columns of the report add up, in the order of the columns. */
const PARTS = [/^log\.rollouts$/, /^log\.texts$/, /^log\.(?!rollouts$|texts$)/, /^tables$/, /./];

const names = ({ looks }: Found): readonly string[] => [...new Set(looks.flatMap(({ rssMb }) => Object.keys(rssMb)))];
/** MB of the parts of the directory whose names match. */
const mbOf = (disk: DiskUse | undefined, part: RegExp): number =>
  (disk?.parts ?? []).filter((one) => part.test(one.part)).reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;

/** Growth of the mean memory of each process from the middle third of the run to the last, MB. Means, because caches of the store vary. */
function growthOf(found: Found): readonly (readonly [string, number])[] {
  const third = Math.ceil(found.looks.length / 3);
  const mean = (looks: readonly Look[], name: string): number => {
    const seen = looks.flatMap(({ rssMb }) => rssMb[name] ?? []);
    return seen.reduce((sum, mb) => sum + mb, 0) / Math.max(1, seen.length);
  };
  const [middle, last] = [found.looks.slice(-2 * third, -third), found.looks.slice(-third)];
  const inBoth = names(found).filter((name) => [middle, last].every((looks) => looks.some(({ rssMb }) => name in rssMb)));
  return inBoth.map((name) => [name, Math.round(mean(last, name) - mean(middle, name))]);
}

function reportOf(found: Found, environment: BenchReport['environment']): BenchReport {
  const last = found.looks.at(-1);
  const stepMb = mbOf(last?.disk, /^(?:log\.|tables)/) / Math.max(1, last?.steps ?? 1);
  const growth = Math.max(...growthOf(found).map(([, grown]) => grown));
  const slowest = Math.max(...found.restartsMs);
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  return {
    name: 'long',
    title: 'A long run: steps, disk and memory over time, restart, and audit',
    method:
      `\`turnstream up --steps ${steps}\` with its default settings in an empty data directory, looked at every ${flags.every} minutes: resident memory in MB by process, disk in MB. ` +
      `Then the run is extended. ${RESTARTS} times, after ${STEPS_BETWEEN} more steps, every process of it is killed with SIGKILL and the time from the next start to the next committed step is taken; the target is for the slowest. The audit compares the whole log with the tables.`,
    quick: flags.quick,
    environment,
    parameters: { steps, seed: flags.seed, records: found.audit.records },
    table: {
      columns: ['minutes', 'steps', 'rollouts', 'texts', 'other log', 'tables', 'everything', ...names(found)],
      rows: found.looks.map(({ minutes, steps: made, disk, rssMb }) => [
        ...[minutes.toFixed(0), whole(made), ...PARTS.map((part) => whole(mbOf(disk, part)))],
        ...names(found).map((name) => String(rssMb[name] ?? '')),
      ]),
    },
    targets: [
      { what: 'disk per step', wanted: `at most ${STEP_MB} MB`, found: `${stepMb.toFixed(2)} MB`, met: stepMb <= STEP_MB },
      {
        ...{ what: 'growth of a process, last third over the one before', wanted: `under ${GROWTH_MB} MB` },
        ...{ found: `${growth} MB`, met: growth < GROWTH_MB },
      },
      {
        ...{ what: 'from the start after SIGKILL to the next step', wanted: 'at most 20 s' },
        ...{ found: `median ${seconds(median(found.restartsMs))}, slowest ${seconds(slowest)}`, met: slowest <= RESTART_MS },
      },
      { what: 'audit without a difference', wanted: 'under 300 s', found: seconds(found.auditMs), met: found.auditMs < AUDIT_MS },
    ],
    figures: found,
  };
}

async function main(): Promise<number> {
  const environment = describeEnvironment();
  const home = await openHome({}, flags.kept);
  try {
    const met = await publish(reportOf(await measure(home), environment), flags.out);
    return met || flags.quick ? 0 : 1;
  } finally {
    if (flags.keep || flags.kept !== undefined) say(`kept: ${home.dir}`);
    else await home.remove();
  }
}

if (flags.help) process.stdout.write(HELP);
else process.exitCode = await main();
