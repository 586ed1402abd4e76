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
Starts every role as a child process, a local Kafka unless KAFKA_BROKERS is set, and an embedded ClickHouse unless
CLICKHOUSE_URL is set. Ctrl-C stops everything in order; a second Ctrl-C stops at once. Neither loses data:
\`turnstream up --run <run>\` continues where the run stopped. To extend a finished run, give a higher --steps. To look at runs
without training, use \`turnstream serve\`.

--recipe compact: REINFORCE over a replay buffer of 100,000 trajectories (ten batches of 128 per step, discount 0.99, AdamW at
0.00001, gradient clipping at 1.0), 200 turns, a reward for each step, three consecutive answers to end, 16 concurrent
trajectories (all in one worker process), and its own questions. --recipe compact-tuned has the same batches, with settings
that suit the built-in policy. Variables and flags that are set override the recipe; a resumed run needs the same one.
`;

/** The settings of the given flags; the environment decides the others. */
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
    .option('--run <run>', 'name of the run; an existing run continues (default: a new name)', runSlug)
    .option('--seed <seed>', 'seed of a new run', wholeIn(0, Number.MAX_SAFE_INTEGER), 1)
    .option('--steps <steps>', 'exit after this step, counted from the start of the run; 0 = train until stopped', wholeIn(0, 1_000_000), 0)
    .option('--workers <workers>', 'number of rollout workers', wholeIn(1, 64), 1)
    .option('--no-eval', 'skip evaluations on held-out questions')
    .option(
      '--eval-every <steps>',
      'steps between evaluations on held-out questions; 0 = only before and after (TURNSTREAM_EVAL_EVERY)',
      wholeIn(0, 1_000_000),
    )
    .option('--dataset <dataset>', 'question set to train on')
    .addOption(new Option('--mode <mode>', 'sync waits for each batch before it trains (TURNSTREAM_MODE)').choices(['async', 'sync']))
    .addOption(new Option('--recipe <recipe>', 'named set of defaults (TURNSTREAM_RECIPE)').choices(descriptors.recipe.choices))
    .addHelpText(
      'after',
      HELP +
        examples(
          'turnstream up',
          'turnstream up --steps 150 --seed 2',
          'turnstream up --run my-run --workers 2',
          'turnstream up --run my-run --steps 300           extends a run of 150 steps',
          'turnstream up --recipe compact',
        ),
    )
    .action(async (options: UpArguments) => {
      const config = loadConfig(context.env, overridesOf(options));
      const { newRunId, runUp } = await import('./run-up.ts');
      const { run = newRunId(new Date()), seed, steps, workers, eval: evaluate } = options;
      context.exit(await runUp(context, { config, training: { run, seed, steps, workers, evaluate } }));
    });
}
