import { Command, Option } from 'commander';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { examples, runSlug, wholeIn } from '../options.ts';

interface UpArguments {
  readonly run?: string;
  readonly seed: number;
  readonly steps: number;
  readonly workers: number;
  readonly eval: boolean;
  readonly dataset?: string;
  readonly mode?: 'async' | 'sync';
}

const HELP = `
Starts what is not configured: a local Kafka without KAFKA_BROKERS, an embedded ClickHouse without CLICKHOUSE_URL, and
every role as a child process. Ctrl-C stops all of it in order; a second Ctrl-C at once. Nothing is lost either way, and
\`turnstream up --run <run>\` goes on where the run stopped.
`;

/** `turnstream up`: everything on this machine, by one command. */
export function upCommand(context: CommandContext): Command {
  return new Command('up')
    .description('start everything and train')
    .option('--run <run>', 'name of the run; one that was stopped goes on (default: a new name)', runSlug)
    .option('--seed <seed>', 'seed of a new run', wholeIn(0, Number.MAX_SAFE_INTEGER), 1)
    .option('--steps <steps>', 'end by itself after this many steps; 0 = train until stopped', wholeIn(0, 1_000_000), 0)
    .option('--workers <workers>', 'rollout workers', wholeIn(1, 64), 1)
    .option('--no-eval', 'do not answer the held-out questions before and after')
    .option('--dataset <dataset>', 'question set to train on')
    .addOption(new Option('--mode <mode>', 'sync waits for each batch before it trains (TURNSTREAM_MODE)').choices(['async', 'sync']))
    .addHelpText('after', HELP + examples('turnstream up', 'turnstream up --steps 150 --seed 2', 'turnstream up --run my-run --workers 2'))
    .action(async (options: UpArguments) => {
      const { dataset, mode } = options;
      const config = loadConfig(context.env, { ...(dataset === undefined ? {} : { dataset }), ...(mode === undefined ? {} : { mode }) });
      const { runUp } = await import('../run-up.ts');
      context.exit(await runUp(context, { ...options, config, evaluate: options.eval }));
    });
}
