import { Command, Option } from 'commander';
import { descriptors, type Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { examples, runSlug, wholeIn } from '../options.ts';

interface UpArguments {
  readonly run?: string;
  readonly seed: number;
  readonly steps: number;
  readonly workers: number;
  readonly eval: boolean;
  readonly evalEvery?: number;
  readonly dataset?: string;
  readonly mode?: 'async' | 'sync';
  readonly recipe?: Config['recipe'];
}

const HELP = `
Starts what is not configured: a local Kafka without KAFKA_BROKERS, an embedded ClickHouse without CLICKHOUSE_URL, and
every role as a child process. Ctrl-C stops all of it in order; a second Ctrl-C at once. Nothing is lost either way, and
\`turnstream up --run <run>\` goes on where the run stopped. A run that has finished goes on when --steps is more than it
made. To look at runs without training, use \`turnstream serve\`.

--recipe compact: REINFORCE over a replay buffer of 100,000 trajectories (ten batches of 128 a step, discount 0.99, AdamW at
0.00001, gradient clip 1.0), 200 turns, a reward for each step, three answers in a row to end, 16 trajectories at once (one
worker process runs all of them), and its own questions. --recipe compact-tuned has the same batches, and settings that the
built-in policy learns with. A variable or flag that is set wins; a run that goes on needs the same recipe again.
`;

/** What a flag sets; one that is not given leaves it to the environment. */
const overridesOf = ({ dataset, mode, recipe, evalEvery }: UpArguments): Partial<Config> => ({
  ...(dataset === undefined ? {} : { dataset }),
  ...(mode === undefined ? {} : { mode }),
  ...(recipe === undefined ? {} : { recipe }),
  ...(evalEvery === undefined ? {} : { evalEvery }),
});

/** `turnstream up`: everything on this machine, by one command. */
export function upCommand(context: CommandContext): Command {
  return new Command('up')
    .description('start everything and train')
    .option('--run <run>', 'name of the run; one that was stopped goes on (default: a new name)', runSlug)
    .option('--seed <seed>', 'seed of a new run', wholeIn(0, Number.MAX_SAFE_INTEGER), 1)
    .option(
      '--steps <steps>',
      'end by itself after this step, counted from the first of the run; 0 = train until stopped',
      wholeIn(0, 1_000_000),
      0,
    )
    .option('--workers <workers>', 'rollout workers', wholeIn(1, 64), 1)
    .option('--no-eval', 'do not answer the held-out questions before, between and after')
    .option(
      '--eval-every <steps>',
      'steps between two evaluations on the held-out questions; 0 for none between (TURNSTREAM_EVAL_EVERY)',
      wholeIn(0, 1_000_000),
    )
    .option('--dataset <dataset>', 'question set to train on')
    .addOption(new Option('--mode <mode>', 'sync waits for each batch before it trains (TURNSTREAM_MODE)').choices(['async', 'sync']))
    .addOption(new Option('--recipe <recipe>', 'named defaults (TURNSTREAM_RECIPE)').choices(descriptors.recipe.choices))
    .addHelpText(
      'after',
      HELP +
        examples(
          'turnstream up',
          'turnstream up --steps 150 --seed 2',
          'turnstream up --run my-run --workers 2',
          'turnstream up --run my-run --steps 300           trains a run of 150 steps further',
          'turnstream up --recipe compact',
        ),
    )
    .action(async (options: UpArguments) => {
      const config = loadConfig(context.env, overridesOf(options));
      const { newRunId, runUp } = await import('../run-up.ts');
      const { run = newRunId(new Date()), seed, steps, workers, eval: evaluate } = options;
      context.exit(await runUp(context, { config, training: { run, seed, steps, workers, evaluate } }));
    });
}
