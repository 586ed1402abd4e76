// Measures the compact recipe as documented, and with settings that suit the built-in policy: curves of whole runs, and Avg@4 on held-out
// questions at several versions. `npm run bench compact`
import { parseArgs } from 'node:util';
import { describeEnvironment } from './environment.ts';
import { openHome, type BenchHome } from './home.ts';
import { keepRuns, type Keep } from './kept-runs.ts';
import { publish } from './report.ts';
import { meanOf, shownInterval } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    document: { type: 'string', default: '1' },
    tuned: { type: 'string', default: '11,12,13' },
    steps: { type: 'string', default: '100' },
    questions: { type: 'string', default: '120' },
    looks: { type: 'string', default: '4' },
    kept: { type: 'string', default: '.turnstream/bench-compact.jsonl' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run bench compact [-- --document 1 --tuned 11,12,13 --steps 100 --questions 120 --looks 4 --kept FILE --quick --out DIR]
Seeds of the recipe as it is written down, and of the tuned one, whose settings were chosen with other seeds. An interrupted bench goes on with the runs that are missing.
`;

const LIFT_WANTED = 10;
const SAMPLES = 4;
const steps = flags.quick ? 2 : Number(flags.steps);
const questions = flags.quick ? 4 : Number(flags.questions);
const looks = flags.quick ? 1 : Number(flags.looks);
const numbers = (list: string): readonly number[] => (list === '' ? [] : list.split(',').map(Number));

type Recipe = 'compact' | 'compact-tuned';

interface CurveSample {
  readonly step: number;
  /** Means over the steps since the previous point; null for version 0. */
  readonly reward: number | null;
  readonly turns: number | null;
  readonly entropy: number | null;
  /** Avg@4 of F1 on held-out questions, sampled, 0 to 100. */
  readonly avg4: number;
  /** Turns per held-out answer. */
  readonly answerTurns: number;
}

interface Curve {
  readonly minutes: number;
  readonly trajectories: number;
  readonly points: readonly CurveSample[];
}

interface CompactRun {
  readonly recipe: Recipe;
  readonly seed: number;
  readonly curve: Curve;
}

const versions = Array.from({ length: looks + 1 }, (_, at) => Math.round((at * steps) / looks));

async function rowsOf<T>(home: BenchHome, sql: string): Promise<readonly T[]> {
  const printed = await home.command('sql', '--format', 'JSONEachRow', '-q', sql);
  return printed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

const EVALUATED = `
  select policy_version as step, 100 * avg(s.f1) as avg4, avg(s.turns) as answerTurns
  from evaluation_scores s
  join (select distinct evaluation_id, policy_version from evaluation_events where event = 'completed') e on e.evaluation_id = s.evaluation_id
  group by step order by step`;

async function measure(recipe: Recipe, seed: number): Promise<Curve> {
  const home = await openHome({ TURNSTREAM_RECIPE: recipe });
  try {
    const began = performance.now();
    await home.command('up', '--run', 'bench', '--seed', String(seed), '--steps', String(steps), '--no-eval');
    const minutes = (performance.now() - began) / 60_000;
    for (const version of versions) {
      const asked = ['--policy', String(version), '--questions', String(questions), '--n', String(SAMPLES), '--concurrency', '32'];
      await home.command('evaluate', '--run', 'bench', ...asked);
    }
    const evaluated = await rowsOf<Pick<CurveSample, 'step' | 'avg4' | 'answerTurns'>>(home, EVALUATED);
    const made = await rowsOf<{ step: number; reward: number; turns: number; entropy: number; trajectories: number }>(
      home,
      'select step, reward_mean as reward, turns_mean as turns, entropy, trajectories from steps order by step',
    );
    const mean = (values: readonly number[]): number | null =>
      values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
    const points = evaluated.map((point, at) => {
      const since = made.filter(({ step }) => step <= point.step && step > (evaluated[at - 1]?.step ?? -1));
      const of = (name: 'reward' | 'turns' | 'entropy'): number | null => mean(since.map((step) => step[name]));
      return { ...point, reward: of('reward'), turns: of('turns'), entropy: of('entropy') };
    });
    return { minutes, trajectories: made.reduce((sum, step) => sum + step.trajectories, 0), points };
  } finally {
    await home.remove();
  }
}

const liftOf = ({ points }: Curve): number => (points.at(-1)?.avg4 ?? NaN) - (points[0]?.avg4 ?? NaN);

async function measureAll(keep: Keep): Promise<readonly CompactRun[]> {
  const wanted: readonly (readonly [Recipe, readonly number[]])[] = [
    ['compact', flags.quick ? [1] : numbers(flags.document)],
    ['compact-tuned', flags.quick ? [] : numbers(flags.tuned)],
  ];
  const runs: CompactRun[] = [];
  for (const [recipe, seeds] of wanted) {
    for (const seed of seeds) {
      runs.push({ recipe, seed, curve: await keep({ recipe, seed, steps, questions, looks }, () => measure(recipe, seed)) });
    }
  }
  return runs;
}

const shown = (value: number | null, digits: number): string => (value === null ? '' : value.toFixed(digits));

async function bench(): Promise<boolean> {
  const environment = describeEnvironment();
  const runs = await measureAll(keepRuns(flags.kept, environment.commit));
  const lifts = (recipe: Recipe): readonly number[] => runs.filter((run) => run.recipe === recipe).map(({ curve }) => liftOf(curve));
  const tuned = meanOf(lifts('compact-tuned'));
  return publish(
    {
      name: 'compact',
      title: 'The compact recipe as it is written down, and with settings that learn',
      method: [
        `Whole runs of ${steps} iterations with --recipe compact and --recipe compact-tuned; reward, turns and entropy are those of training, means since the row before.`,
        `Avg@4: F1 of ${SAMPLES} sampled answers to each of ${questions} held-out questions, 0 to 100, with the evaluator of the recipe.`,
        `Lift of compact: ${lifts('compact')
          .map((lift) => lift.toFixed(1))
          .join(', ')} points.`,
      ].join(' '),
      quick: flags.quick,
      environment,
      parameters: { steps, questions },
      table: {
        columns: ['recipe', 'seed', 'iteration', 'reward', 'turns', 'entropy', 'Avg@4', 'turns of an answer', 'minutes', 'trajectories'],
        rows: runs.flatMap(({ recipe, seed, curve }) =>
          curve.points.map((point) => [
            ...[recipe, String(seed), String(point.step), shown(point.reward, 3), shown(point.turns, 1), shown(point.entropy, 2)],
            ...[shown(point.avg4, 1), shown(point.answerTurns, 1), shown(curve.minutes, 1), String(curve.trajectories)],
          ]),
        ),
      },
      targets: [
        {
          what: 'Avg@4 of compact-tuned after less before, points, over the seeds',
          wanted: `at least ${LIFT_WANTED}`,
          found: shownInterval(tuned, 1),
          met: tuned.mean >= LIFT_WANTED,
        },
      ],
      figures: runs,
    },
    flags.out,
  );
}

if (flags.help) process.stdout.write(HELP);
else process.exitCode = (await bench()) ? 0 : 1;
