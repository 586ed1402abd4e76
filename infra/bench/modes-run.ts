// One run of the modes bench: a whole turnstream in its own directory that ends after a number of steps, the results from its tables, and
// the score of the trained policy on held-out questions, answered without the latency model.
import { openHome, type BenchHome } from './home.ts';

export const GROUP = 8;
export const BATCH = 8;
const EVAL_SAMPLES = 4;

/** What is modeled, and how the devices of the model are shared. */
export interface Model {
  /** Mean duration of a generation alone on the engine, and of a tool call, ms. */
  readonly generationMs: number;
  readonly toolMs: number;
  readonly sigma: number;
  /** Capacity of the engine on all devices: this many other concurrent generations double the duration of one. */
  readonly load: number;
  /** Duration of a training step on all devices, ms. */
  readonly trainMs: number;
  /** Fraction of the devices that generate; the others train. Unused by colocated. */
  readonly generating: number;
}

/**
 * async: some devices generate, the others train. split: the same devices, but alternating. colocated: all devices generate, then all of
 * them train, and switching costs nothing.
 */
export type TrainingMode = 'async' | 'split' | 'colocated';

export interface ModeVariant {
  readonly mode: TrainingMode;
  /** Requested groups per group that the batch still needs; unused by async. */
  readonly oversample: number;
  /** async: concurrent trajectories. */
  readonly atOnce: number;
  readonly maxStaleness: number;
}

interface ModePlan {
  readonly variant: ModeVariant;
  readonly model: Model;
  readonly seed: number;
  readonly steps: number;
  /** Held-out questions answered at the end; 0 skips that. */
  readonly questions: number;
}

export interface ModeResult {
  readonly steps: number;
  readonly questionsTrained: number;
  /** From the first record of the run to the commit of its last step. */
  readonly seconds: number;
  /** Fraction of that time in which the trainer trains, and in which it waits for a batch. */
  readonly training: number;
  readonly waiting: number;
  /** Running trajectories, mean of the heartbeats. */
  readonly running: number;
  /** Requested groups per trained group. */
  readonly asked: number;
  readonly stalenessMean: number;
  readonly stalenessMax: number;
  /** Turns per trained trajectory: a mode that stops the slowest ones prefers short ones. */
  readonly turns: number;
  /** Avg@4 of F1 on held-out questions after the last step, 0 to 100. */
  readonly avg4: number;
}

const text = (settings: Readonly<Record<string, number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));

/** The environment variables of a variant. */
function settingsOf({ variant, model }: Pick<ModePlan, 'variant' | 'model'>): Record<string, string> {
  const { mode, oversample, atOnce, maxStaleness } = variant;
  const [generating, training] = mode === 'colocated' ? [1, 1] : [model.generating, 1 - model.generating];
  const wanted = Math.ceil(BATCH * oversample);
  return {
    TURNSTREAM_MODE: mode === 'async' ? 'async' : 'sync',
    TURNSTREAM_LATENCY_MODEL: 'log-normal',
    ...text({
      TURNSTREAM_GROUP_SIZE: GROUP,
      TURNSTREAM_BATCH_GROUPS: BATCH,
      TURNSTREAM_HEARTBEAT_MS: 1_000,
      TURNSTREAM_LATENCY_GENERATION_MS: model.generationMs,
      TURNSTREAM_LATENCY_TOOL_MS: model.toolMs,
      TURNSTREAM_LATENCY_SIGMA: model.sigma,
      TURNSTREAM_LATENCY_LOAD: model.load * generating,
      TURNSTREAM_LATENCY_TRAIN_MS: Math.round(model.trainMs / training),
      TURNSTREAM_WORKER_CONCURRENCY: mode === 'async' ? atOnce : wanted * GROUP,
      ...(mode === 'async'
        ? { TURNSTREAM_MAX_STALENESS: maxStaleness, TURNSTREAM_MAX_CONCURRENT: Math.ceil(atOnce / GROUP) + 2 }
        : { TURNSTREAM_OVERSAMPLE: oversample }),
    }),
  };
}

const SQL = `
  select
    toInt32(count()) as steps,
    toInt32(sum(groups)) as questionsTrained,
    toUnixTimestamp64Milli(toDateTime64(max(at), 3)) / 1000 - (
      select toUnixTimestamp64Milli(toDateTime64(min(at), 3)) / 1000 from run_events where run_id = 'bench') as seconds,
    sum(train_ms) / 1000 / seconds as training,
    sum(wait_ms) / 1000 / seconds as waiting,
    (select avg(running) from heartbeats where run_id = 'bench') as running,
    (select sum(groups) from admissions where run_id = 'bench') / sum(groups) as asked,
    avg(staleness_mean) as stalenessMean,
    toInt32(max(staleness_max)) as stalenessMax,
    avg(turns_mean) as turns
  from steps where run_id = 'bench'`;

async function avg4(home: BenchHome, questions: number): Promise<number> {
  if (questions === 0) return NaN;
  const asked = [
    '--run',
    'bench',
    '--policy',
    'newest',
    '--n',
    String(EVAL_SAMPLES),
    '--questions',
    String(questions),
    '--concurrency',
    '64',
  ];
  await home.command('evaluate', ...asked);
  const printed = await home.command('sql', '--format', 'TSV', '-q', "select 100 * avg(f1) from evaluation_scores where run_id = 'bench'");
  return Number(printed.trim());
}

/** Runs the plan to its end. */
export async function runOnce(plan: ModePlan): Promise<ModeResult> {
  const home = await openHome();
  try {
    const args = ['up', '--run', 'bench', '--seed', String(plan.seed), '--steps', String(plan.steps), '--no-eval'];
    await home.commandWith(settingsOf(plan), ...args);
    const printed = await home.command('sql', '--format', 'JSONEachRow', '-q', SQL);
    const found = JSON.parse(printed) as Omit<ModeResult, 'avg4'>;
    return { ...found, avg4: await avg4(home, plan.questions) };
  } finally {
    await home.remove();
  }
}
