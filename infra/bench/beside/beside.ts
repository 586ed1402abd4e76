// `npm run bench:beside -- --against <revision> --bench <name>`: runs a bench of this tree and of an older revision alternately on one
// machine, so that both see the same disk, the same neighbors and the same heat. The older revision is checked out and built in a temporary
// directory. Exit code 1 when a figure is worse by more than the tolerance.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeEnvironment } from '../environment.ts';
import { publish, whole, type BenchReport, type BenchTable } from '../report.ts';
import { median } from '../statistics.ts';
import { compare, figuresOf, type BenchName, type BenchComparison } from './compare.ts';
import { foldPairs } from './fold-pairs.ts';
import { restartPairs } from './restart-pairs.ts';
import { duringTraining } from './training.ts';

const { values: flags } = parseArgs({
  options: {
    against: { type: 'string', default: '' },
    bench: { type: 'string', default: '' },
    flags: { type: 'string', multiple: true, default: [] },
    'flags-here': { type: 'string', default: '' },
    rounds: { type: 'string', default: '2' },
    tolerance: { type: 'string', default: '3' },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** Benches whose figures are measured in pairs. */
const inPairs = { fold: foldPairs, restart: restartPairs } as const;
type PairedBench = keyof typeof inPairs;
const isPaired = (name: string): name is PairedBench => name in inPairs;
const isBench = (name: string): name is BenchName | PairedBench => isPaired(name) || name in figuresOf;

const HELP = `npm run bench:beside -- --against <revision> --bench <${[...Object.keys(inPairs), ...Object.keys(figuresOf)].join('|')}> [flags]

  --against R       the older revision (a commit, tag or branch)
  --flags="…"       what both benches are called with, for example --flags="--turns 400000 --rounds 1"; given several
                    times, the pairs of runs use them in turn (fold and restart use the first)
  --flags-here="…"  further flags for this revision, for inputs that the older one had without a flag
  --rounds N        pairs of runs, or of readers and trainers (fold, restart); the older one goes first in odd rounds (2)
  --tolerance P     percent by which a figure may be worse (3)
  --out DIR         where the report goes (infra/docs/reference/bench)
`;

const root = process.cwd();
const say = (text: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

/** Checks out and builds the older revision, with the dependencies of its own lockfile. */
function checkOut(revision: string, into: string): string {
  const tree = join(into, 'older');
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', tree, revision], { stdio: 'inherit' });
  const lockfile = (of: string): string => readFileSync(join(of, 'package-lock.json'), 'utf8');
  if (lockfile(tree) === lockfile(root)) symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  else execFileSync('npm', ['ci', '--no-progress', '--silent'], { cwd: tree, stdio: 'inherit' });
  mkdirSync(join(tree, '.turnstream'));
  for (const kept of ['kafka', 'tensorflow']) {
    const from = join(root, '.turnstream', kept);
    if (existsSync(from)) cpSync(from, join(tree, '.turnstream', kept), { recursive: true });
  }
  // With another backend, a trainer takes another time to start.
  if (existsSync(join(root, '.turnstream', 'tensorflow')))
    execFileSync('npm', ['run', '--silent', 'setup:tensorflow'], { cwd: tree, stdio: 'inherit' });
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: tree, stdio: 'inherit' });
  return tree;
}

/** What both benches are called with in a round. */
const flagsOf = (round: number): string => flags.flags[(round - 1) % flags.flags.length] ?? '';

interface BesideRun {
  readonly tree: string;
  readonly bench: BenchName;
  readonly round: number;
  readonly out: string;
}

/** Runs the built bench of a tree; a target that the bench itself misses is ignored here. */
async function run({ tree, bench, round, out }: BesideRun): Promise<BenchTable> {
  const asked = tree === root ? `${flagsOf(round)} ${flags['flags-here']}` : flagsOf(round);
  const given = ['dist/infra/bench/main.js', bench, ...asked.split(' ').filter((word) => word !== ''), '--out', out];
  if (bench === 'api') await duringTraining(tree, `${out}-home`, (url) => ended(tree, [...given, '--url', url]));
  else await ended(tree, given);
  const file = join(out, `${bench}.json`);
  if (!existsSync(file)) throw new Error(`the bench ${bench} of ${tree} wrote no report`);
  return (JSON.parse(readFileSync(file, 'utf8')) as BenchReport).table;
}

async function ended(tree: string, args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { cwd: tree, stdio: ['ignore', 'ignore', 'inherit'] });
  await new Promise((resolve) => child.once('exit', resolve));
}

async function measure(bench: BenchName | PairedBench, scratch: string): Promise<readonly BenchComparison[]> {
  say(`building ${flags.against}`);
  const older = checkOut(flags.against, scratch);
  if (isPaired(bench)) return inPairs[bench]({ older, newer: root, rounds: Number(flags.rounds), flags: flagsOf(1), say });
  const [old, fresh]: [BenchTable[], BenchTable[]] = [[], []];
  for (let round = 1; round <= Number(flags.rounds); round += 1) {
    const turns = [
      { name: 'old', tree: older, tables: old },
      { name: 'new', tree: root, tables: fresh },
    ];
    for (const { name, tree, tables } of round % 2 === 1 ? turns : turns.reverse()) {
      say(`round ${round}: ${bench}, ${name}`);
      tables.push(await run({ tree, bench, round, out: join(scratch, `${name}-${round}`) }));
    }
  }
  return compare(bench, old, fresh);
}

const OF_PAIRS = 'The columns are medians of the rounds, and the last one is the median of the ratios within a round.';

const METHODS = {
  fold:
    'Each revision writes a topic. Then a reader process of either revision folds its topic in turns, on one machine; a round takes some seconds. ' +
    OF_PAIRS,
  restart:
    'Each revision writes a log and keeps it. Then a trainer of either revision is started on its log in turns, on one machine, and killed when it is back. ' +
    'The snapshots lack nothing of their logs; a round takes less than a minute. ' +
    OF_PAIRS,
  others: 'Both revisions run the bench in turns on the same machine; figures are medians of the runs.',
} as const;

function reportOf(bench: BenchName | PairedBench, compared: readonly BenchComparison[]): BenchReport {
  const tolerance = Number(flags.tolerance) / 100;
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const figure = (value: number): string => (value >= 100 ? whole(value) : value.toFixed(2));
  return {
    name: `beside-${bench}`,
    title: `${bench}: this revision beside an older one`,
    method: isPaired(bench) ? METHODS[bench] : METHODS.others,
    quick: false,
    environment: describeEnvironment(),
    parameters: {
      against: commitOf(flags.against),
      rounds: flags.rounds,
      flags: flags.flags.join(' | ') || 'none',
      'flags here': flags['flags-here'] || 'none',
    },
    table: {
      columns: ['figure', 'older', 'this', 'worse by'],
      rows: compared.map((one) => [one.what, figure(median(one.old)), figure(median(one.new)), percent(one.worse)]),
    },
    targets: compared.map(({ what, worse }) => ({
      what,
      wanted: `at most ${flags.tolerance} % worse`,
      found: percent(worse),
      met: worse <= tolerance,
    })),
    figures: compared,
  };
}

const commitOf = (revision: string): string => execFileSync('git', ['rev-parse', '--short=12', revision], { encoding: 'utf8' }).trim();

async function main(): Promise<number> {
  const { bench } = flags;
  if (flags.help || !isBench(bench) || flags.against === '') {
    process.stderr.write(HELP);
    return flags.help ? 0 : 2;
  }
  const scratch = mkdtempSync(join(tmpdir(), 'turnstream-beside-'));
  try {
    const met = await publish(reportOf(bench, await measure(bench, scratch)), flags.out);
    return met ? 0 : 1;
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', join(scratch, 'older')], { stdio: 'ignore' });
    rmSync(scratch, { recursive: true, force: true });
  }
}

process.exitCode = await main();
