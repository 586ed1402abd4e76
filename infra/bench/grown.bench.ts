// Tests whether training on harder synthesized questions improves the policy: questions are synthesized from the factbook, whole runs are
// trained on them, and the evaluator compares the trained policy with the untrained one on held-out questions. `npm run bench grown`
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { CheckReport } from '../../producers/questions/check/check-questions.ts';
import type { SynthesisReport } from '../../producers/questions/synthesis/report.ts';
import type { ScoreComparison } from '../../streams/evaluation/compare.ts';
import { describeEnvironment } from './environment.ts';
import { openHome, type BenchHome } from './home.ts';
import { keepRuns } from './kept-runs.ts';
import { say } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3,4,5' },
    steps: { type: 'string', default: '300' },
    count: { type: 'string', default: '2000' },
    questions: { type: 'string', default: '200' },
    samples: { type: 'string', default: '4' },
    home: { type: 'string' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const DATASET = 'grown';
const LIFT_WANTED = 15;
const [ACCEPTED_WANTED, SECONDS_WANTED, LOOKUPS_WANTED] = [2_500, 600, 3];
/** Share of closed-book answers that may be right. */
const CLOSED_BOOK_SHARE = 0.125;
/** As in docs/guides/grow-questions.md; all steps are made, however many groups become uniform. */
const LEARNING = {
  TURNSTREAM_LEARNING_RATE: '0.01',
  TURNSTREAM_ENTROPY_BONUS: '0.05',
  TURNSTREAM_MAX_DISCARDED: '1',
};
const seeds = flags.quick ? ['1'] : flags.seeds.split(',');
const steps = flags.quick ? '3' : flags.steps;
const questions = flags.quick ? '4' : flags.questions;

interface Made {
  readonly synthesis: SynthesisReport;
  readonly checked: CheckReport;
}

interface GrownRun {
  readonly seed: string;
  readonly minutes: number;
  /** Difference of Avg@k of F1, B - A, as a fraction. */
  readonly lift: ScoreComparison;
  readonly pass: ScoreComparison;
}

/** Returns the evaluation's id. */
async function evaluate(home: BenchHome, run: string, policy: string): Promise<string> {
  const chosen = ['--run', run, '--policy', policy, '--split', 'heldout', '--questions', questions, '--n', flags.samples];
  const printed = await home.command('evaluate', ...chosen, '--concurrency', '64', '--format', 'json');
  const { evaluations } = JSON.parse(printed) as { evaluations: readonly { evaluation_id: string }[] };
  return evaluations[0]?.evaluation_id ?? '';
}

async function train(home: BenchHome, seed: string): Promise<GrownRun> {
  const run = `grown-${seed}`;
  const began = performance.now();
  await home.commandWith(LEARNING, 'up', '--run', run, '--seed', seed, '--steps', steps, '--dataset', DATASET, '--no-eval');
  const minutes = (performance.now() - began) / 60_000;
  say(`seed ${seed}: ${steps} steps in ${minutes.toFixed(1)} min`);
  const untrained = await evaluate(home, run, '0');
  const trained = await evaluate(home, run, 'newest');
  const compared = await home.command('evaluate', 'compare', untrained, trained, '--format', 'json');
  const { figures } = JSON.parse(compared) as { figures: readonly ScoreComparison[] };
  const of = (name: ScoreComparison['name']): ScoreComparison => {
    const found = figures.find((figure) => figure.name === name);
    if (found === undefined) throw new Error(`the comparison has no ${name}`);
    return found;
  };
  return { seed, minutes, lift: of('avg_f1'), pass: of('pass_f1') };
}

async function synthesize(home: BenchHome, count: string): Promise<Made> {
  const file = join(home.dir, 'grown-questions.jsonl');
  const printed = await home.command('questions', 'synthesize', '--count', count, '--dataset', DATASET, '--output', file, '--json');
  // exits with 1 when a question has a fault, and prints the report all the same
  const checked = await home.outputOf('questions', 'check', file, '--json');
  return { synthesis: JSON.parse(printed) as SynthesisReport, checked: JSON.parse(checked) as CheckReport };
}

/** The look-ups are counted by `questions check`, which is independent of the writer. */
function synthesisTargets({ synthesis, checked }: Made): BenchReport['targets'] {
  const { accepted, seconds, directRight, directSamples } = synthesis;
  const { faults, lookups } = checked;
  const fewest = lookups.counts.findIndex((questions) => questions > 0);
  const most = Math.floor(CLOSED_BOOK_SHARE * directSamples);
  const known = directRight.counts.slice(most + 1).reduce((sum, questions) => sum + questions, 0);
  return [
    { what: 'accepted questions', wanted: `at least ${whole(ACCEPTED_WANTED)}`, found: whole(accepted), met: accepted >= ACCEPTED_WANTED },
    { what: 'seconds to synthesize them', wanted: `at most ${SECONDS_WANTED}`, found: seconds.toFixed(0), met: seconds <= SECONDS_WANTED },
    { what: 'faults that questions check finds', wanted: '0', found: whole(faults.length), met: faults.length === 0 },
    {
      what: 'look-ups that cannot be skipped, mean',
      wanted: `at least ${LOOKUPS_WANTED}`,
      found: `${lookups.mean.toFixed(2)}, none with fewer than ${fewest}`,
      met: lookups.mean >= LOOKUPS_WANTED,
    },
    {
      what: `questions that the closed-book solver gets more than ${most} times in ${directSamples}`,
      wanted: '0',
      found: whole(known),
      met: known === 0,
    },
  ];
}

const points = (share: number): string => (100 * share).toFixed(1);
const interval = ({ difference, low, high }: ScoreComparison): string => `+${points(difference)} (${points(low)} to ${points(high)})`;

async function bench(): Promise<boolean> {
  const environment = describeEnvironment();
  const home = await openHome({}, flags.home);
  const keep = keepRuns(join(home.dir, 'bench-grown.jsonl'), environment.commit);
  try {
    const count = flags.quick ? '20' : flags.count;
    const made = await keep({ count }, () => synthesize(home, count));
    const all: GrownRun[] = [];
    for (const seed of seeds) all.push(await keep({ seed, steps, questions, samples: flags.samples }, () => train(home, seed)));
    return await publish(
      {
        name: 'grown',
        title: 'Training on synthesized questions',
        method:
          `${whole(made.synthesis.accepted)} questions by \`turnstream questions synthesize\` from the factbook. For each seed, a run (\`turnstream up --steps ${steps}\`) trains on the training split. ` +
          `\`turnstream evaluate\` then scores version 0 and the newest version on ${questions} held-out questions with ${flags.samples} samples each, and \`turnstream evaluate compare\` compares them, paired by question, with 95% bootstrap intervals. F1 in percent.`,
        quick: flags.quick,
        environment,
        parameters: { steps, questions, samples: flags.samples, 'seed questions': count, ...LEARNING },
        table: {
          columns: [
            'seed',
            'minutes',
            `Avg@${flags.samples} untrained`,
            'trained',
            'difference',
            `Pass@${flags.samples} untrained`,
            'trained',
            'difference',
          ],
          rows: all.map(({ seed, minutes, lift, pass }) => [
            ...[seed, minutes.toFixed(1), points(lift.a), points(lift.b), interval(lift)],
            ...[points(pass.a), points(pass.b), interval(pass)],
          ]),
        },
        targets: [
          ...synthesisTargets(made),
          ...all.map(({ seed, lift }) => ({
            what: `held-out Avg@${flags.samples}, seed ${seed}`,
            wanted: `at least ${LIFT_WANTED} points more`,
            found: interval(lift),
            met: 100 * lift.difference >= LIFT_WANTED,
          })),
        ],
        figures: { made, all },
      },
      flags.out,
    );
  } finally {
    if (flags.home === undefined) await home.remove();
  }
}

if (flags.help) {
  process.stdout.write(
    'npm run bench grown -- [--seeds 1,2,3,4,5] [--steps 300] [--count 2000] [--questions 200] [--samples 4] [--home dir] [--out dir] [--quick]\n' +
      'With --home, an interrupted bench goes on in that directory with the seeds that are missing.\n',
  );
} else {
  process.exitCode = (await bench()) || flags.quick ? 0 : 1;
}
