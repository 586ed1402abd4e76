// Measures the benefit of asynchronous training: the time to train on the same number of questions, asynchronously and with the best
// possible synchronous trainer, which oversamples by its optimal factor and stops what it does not need. Engine, tools and training step
// are MODELS (latency/engine.ts, latency/latency-model.ts); the rest is real. `npm run bench modes`
import { parseArgs } from 'node:util';
import { describeEnvironment, type Environment } from './environment.ts';
import { keepRuns, unfit, type Keep } from './kept-runs.ts';
import { BATCH, GROUP, runOnce, type ModeResult, type TrainingMode, type Model, type ModeVariant } from './modes-run.ts';
import { publish } from './report.ts';
import { meanOf, ratioOf, shownInterval, type MeanInterval } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3,4,5' },
    steps: { type: 'string', default: '40' },
    modes: { type: 'string', default: 'async,colocated' },
    factors: { type: 'string', default: '1,1.5,2,3,4' },
    generation: { type: 'string', default: '200' },
    tool: { type: 'string', default: '50' },
    sigma: { type: 'string', default: '0.75' },
    load: { type: 'string', default: '64' },
    'training-share': { type: 'string', default: '0.1' },
    generating: { type: 'string', default: '0.75' },
    'at-once': { type: 'string', default: '48,96,144,192,256,384' },
    staleness: { type: 'string', default: '4' },
    questions: { type: 'string', default: '100' },
    kept: { type: 'string', default: '.turnstream/bench-modes.jsonl' },
    anyway: { type: 'boolean', default: false },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run bench modes [-- --seeds 1,2,3,4,5 --steps 40 --modes async,colocated --factors 1,1.5,2,3,4
  --generation 200 --tool 50 --sigma 0.75 --load 64 --training-share 0.1 --generating 0.75 --at-once 48,96,144,192,256,384 --staleness 4
  --questions 100 --kept FILE --anyway --quick --out DIR]
An interrupted bench goes on with the runs that are missing. It wants a clean tree and a quiet machine; --anyway measures without.
`;

const GAIN_WANTED = 2;
/** Differs from the seeds that are compared. */
const SWEEP_SEED = 1_000;

const numbers = (list: string): readonly number[] => list.split(',').map(Number);
const seeds = flags.quick ? [1] : numbers(flags.seeds);
const steps = flags.quick ? 4 : Number(flags.steps);
const factors = flags.quick ? [1, 2] : numbers(flags.factors);
const concurrencies = flags.quick ? [48, 96] : numbers(flags['at-once']);
const modes = flags.modes.split(',') as readonly TrainingMode[];
const share = Number(flags['training-share']);

const model: Model = {
  generationMs: Number(flags.generation),
  toolMs: Number(flags.tool),
  sigma: Number(flags.sigma),
  load: Number(flags.load),
  trainMs: 0,
  generating: Number(flags.generating),
};

/** What the sweep tunes: how much the synchronous modes oversample, and how many trajectories the asynchronous one runs at once. */
type TunedSettings = Pick<ModeVariant, 'oversample' | 'atOnce'>;

const variantOf = (mode: TrainingMode, tuned: TunedSettings): ModeVariant => ({ mode, ...tuned, maxStaleness: Number(flags.staleness) });

interface ModeRow extends TunedSettings {
  readonly mode: TrainingMode;
  readonly seed: number;
  readonly trainMs: number;
  readonly found: ModeResult;
}

interface SweepPlan {
  readonly mode: TrainingMode;
  readonly choices: readonly TunedSettings[];
  readonly trainMs: number;
}

/** One run per choice, of a seed that is not compared. */
async function sweep(
  keep: Keep,
  { mode, choices, trainMs }: SweepPlan,
): Promise<{ readonly rows: readonly ModeRow[]; readonly best: ModeRow }> {
  const rows: ModeRow[] = [];
  for (const tuned of choices) {
    const plan = { variant: variantOf(mode, tuned), model: { ...model, trainMs }, seed: SWEEP_SEED, steps, questions: 0 };
    rows.push({ mode, ...tuned, seed: SWEEP_SEED, trainMs, found: await keep(plan, () => runOnce(plan)) });
  }
  const [best] = [...rows].sort((a, b) => a.found.seconds - b.found.seconds);
  if (best === undefined) throw new RangeError('--factors or --at-once has none');
  return { rows, best };
}

async function bench(environment: Environment): Promise<boolean> {
  const keep = keepRuns(flags.kept, environment.commit);
  // with training steps of 0 ms, to measure how long generation takes
  const sync = await sweep(keep, { mode: 'colocated', choices: factors.map((oversample) => ({ oversample, atOnce: 0 })), trainMs: 0 });
  // so that training is the wanted fraction of a step of the best synchronous trainer, which trains on all devices
  const trainMs = Math.round(((1_000 * sync.best.found.seconds) / sync.best.found.steps) * (share / (1 - share)));
  const async = await sweep(keep, { mode: 'async', choices: concurrencies.map((atOnce) => ({ oversample: 1, atOnce })), trainMs });
  const best: TunedSettings = { oversample: sync.best.oversample, atOnce: async.best.atOnce };
  const rows: ModeRow[] = [];
  for (const seed of seeds) {
    for (const mode of modes) {
      const variant = variantOf(mode, best);
      const plan = { variant, model: { ...model, trainMs }, seed, steps, questions: flags.quick ? 4 : Number(flags.questions) };
      rows.push({ mode, ...best, seed, trainMs, found: await keep(plan, () => runOnce(plan)) });
    }
  }
  return report({ environment, swept: [...sync.rows, ...async.rows], rows, trainMs, best });
}

interface ModesMeasurement {
  readonly environment: Environment;
  readonly swept: readonly ModeRow[];
  readonly rows: readonly ModeRow[];
  readonly trainMs: number;
  readonly best: TunedSettings;
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

function cellsOf({ mode, oversample, atOnce, seed, trainMs, found }: ModeRow): readonly string[] {
  const name = mode === 'async' ? 'async' : `sync, ${mode}`;
  return [
    ...[
      name,
      mode === 'async' ? '' : String(oversample),
      mode === 'async' ? String(atOnce) : '',
      seed === SWEEP_SEED ? 'sweep' : String(seed),
      (trainMs / 1_000).toFixed(2),
    ],
    ...[String(found.questionsTrained), found.seconds.toFixed(1), percent(found.training), percent(found.waiting)],
    ...[found.running.toFixed(0), found.asked.toFixed(2), found.stalenessMean.toFixed(2), String(found.stalenessMax)],
    ...[found.turns.toFixed(2), Number.isFinite(found.avg4) ? found.avg4.toFixed(1) : ''],
  ];
}

const COLUMNS = [
  ...['mode', 'oversampling', 'at once', 'seed', 'training step, s', 'questions trained', 'seconds', 'training', 'waiting'],
  ...['running', 'groups asked a group trained', 'staleness mean', 'worst', 'turns', 'Avg@4 after'],
];

/** Compares a mode with async over the seeds: how many times as long it takes, and how much lower the score of its policy is. */
function against(rows: readonly ModeRow[], mode: TrainingMode): { readonly gain: MeanInterval; readonly avg4: MeanInterval } {
  const of = (wanted: TrainingMode) => rows.filter((row) => row.mode === wanted);
  const pairs = of('async').flatMap((one) => {
    const other = of(mode).find(({ seed }) => seed === one.seed);
    return other === undefined ? [] : [[one.found, other.found] as const];
  });
  return {
    gain: ratioOf(pairs.map(([one, other]) => other.seconds / one.seconds)),
    avg4: meanOf(pairs.map(([one, other]) => one.avg4 - other.avg4)),
  };
}

/** What bounds the gain: an asynchronous trainer that never waited would still need its training steps. */
function whyMissed(rows: readonly ModeRow[], mode: TrainingMode): string {
  const mean = (wanted: TrainingMode, of: (found: ModeResult) => number): number => {
    const values = rows.filter((row) => row.mode === wanted).map(({ found }) => of(found));
    return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  };
  const told = (wanted: TrainingMode): string =>
    `trains ${percent(mean(wanted, ({ training }) => training))} of the time, waits ${percent(mean(wanted, ({ waiting }) => waiting))}, and requests ${mean(wanted, ({ asked }) => asked).toFixed(2)} groups per trained group`;
  const bound = mean(mode, ({ seconds }) => seconds) / mean('async', ({ seconds, training }) => seconds * training);
  return `async ${told('async')}; sync, ${mode}, ${told(mode)}. Without any wait for batches, async would gain at most ${bound.toFixed(2)}`;
}

function methodOf({ best, trainMs }: Pick<ModesMeasurement, 'best' | 'trainMs'>): string {
  const split = `${percent(model.generating)} of the devices generate and the others train`;
  return [
    `MODELLED: an engine that ${model.load} others at once make half as fast, generations of ${model.generationMs} ms alone and tool calls of ${model.toolMs} ms (log-normal, sigma ${model.sigma}, one factor a trajectory),`,
    `a training step of ${trainMs} ms on all devices, ${percent(share)} of a step of the best synchronous trainer, and how devices share both. Measured: everything else.`,
    `Whole runs that end after ${steps} steps of ${BATCH} groups of ${GROUP}, one after the other: the same number of questions trained, the same filters, the same devices.`,
    `async: ${split}; a staleness of at most ${flags.staleness}; ${best.atOnce} trajectories at once, the best of ${concurrencies.join(', ')} (rows "sweep"). sync, colocated: all devices generate, then all train, and changing over is free.${modes.includes('split') ? ` sync, split: ${split}, in turn.` : ''}`,
    `Synchronous trainers oversample: they request ${best.oversample} groups for each group that the batch still needs, the best of ${factors.join(', ')} in runs of another seed without a training step (rows "sweep");`,
    'a batch is trained on as soon as it is full, and what is left of it is stopped. Intervals: 95 %, over the seeds.',
  ].join(' ');
}

function report(measured: ModesMeasurement): Promise<boolean> {
  const { environment, swept, rows } = measured;
  const rivals = modes.filter((mode) => mode !== 'async');
  const compared = rivals.map((mode) => ({ mode, ...against(rows, mode) }));
  return publish(
    {
      name: 'modes',
      title:
        'Modelled engine, tools and training step: the time to train on the same questions, asynchronously and by the best synchronous trainer',
      method: methodOf(measured),
      quick: flags.quick,
      environment,
      parameters: {
        steps,
        group: GROUP,
        batch: BATCH,
        seeds: seeds.length,
        model: JSON.stringify({ ...model, trainMs: measured.trainMs }),
      },
      table: { columns: COLUMNS, rows: [...swept, ...rows].map(cellsOf) },
      targets: compared.flatMap(({ mode, gain, avg4 }) => [
        {
          what: `seconds of sync, ${mode}, by those of async`,
          wanted: `at least ${GAIN_WANTED}`,
          found: shownInterval(gain),
          met: gain.mean >= GAIN_WANTED,
          why: whyMissed(rows, mode),
        },
        {
          what: `Avg@4 on held-out questions, async - sync, ${mode}`,
          wanted: 'no less than 0 within the interval',
          found: shownInterval(avg4, 1),
          met: avg4.high >= 0,
        },
      ]),
      figures: { swept, rows },
    },
    flags.out,
  );
}

async function main(): Promise<number> {
  const environment = describeEnvironment();
  const reasons = unfit(environment);
  if (reasons.length > 0 && !flags.anyway && !flags.quick) {
    process.stderr.write(`not measuring:\n${reasons.map((reason) => `- ${reason}\n`).join('')}--anyway measures all the same\n`);
    return 2;
  }
  return (await bench(environment)) ? 0 : 1;
}

if (flags.help) process.stdout.write(HELP);
else process.exitCode = await main();
