import { Command, InvalidArgumentError, Option } from 'commander';
import { PlatformError } from '../../../streams/core/errors.ts';
import { loadConfig } from '../../config/load.ts';
import type { BackendName } from '../../tfjs/backend.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { examples, runSlug, wholeIn } from '../options.ts';

interface ReplayArguments {
  readonly run: string;
  readonly step?: number;
  readonly steps?: StepBounds;
  readonly all: boolean;
  readonly train: boolean;
  readonly backend?: BackendName;
  readonly fromStart: boolean;
  readonly json: boolean;
}

interface StepBounds {
  readonly first: number;
  readonly last: number;
}

const backends: readonly BackendName[] = ['tfjs-node-gpu', 'tfjs-node', 'wasm', 'cpu'];

/** Parses `3..7`, or `3..` for everything up to the last step. */
function range(raw: string): StepBounds {
  const [, first = '', last = ''] = /^(\d{1,9})\.\.(\d{0,9})$/.exec(raw) ?? [];
  const parsed = { first: Number(first), last: last === '' ? Infinity : Number(last) };
  if (first === '' || parsed.first < 1 || parsed.last < parsed.first)
    throw new InvalidArgumentError('It must be <first>..<last>, or <first>.. up to the last step.');
  return parsed;
}

function rangeOf({ step, steps, all }: ReplayArguments): StepBounds {
  if ([step !== undefined, steps !== undefined, all].filter(Boolean).length !== 1) {
    throw new PlatformError('USAGE_INVALID', 'replaying a run: give one of --step, --steps and --all; see turnstream replay --help');
  }
  return steps ?? { first: step ?? 1, last: step ?? Infinity };
}

/** `turnstream replay`: recomputes the steps of a run from the log. */
export function replayCommand(context: CommandContext): Command {
  return new Command('replay')
    .description('rebuild batches from the log alone and compare them with the ledger; with --train, repeat the updates as well')
    .requiredOption('--run <run>', 'the run', runSlug)
    .option('--step <step>', 'only this step', wholeIn(1, 999_999_999))
    .option('--steps <first..last>', 'range of steps; without <last>, up to the last one', range)
    .option('--all', 'every step', false)
    .option('--train', 'restore the previous version, repeat the update, and compare the weights', false)
    .addOption(new Option('--backend <name>', 'tensor backend for repeated updates (default: the original one)').choices(backends))
    .option('--from-start', 'read from the first record instead of the resume point of the previous step', false)
    .option('--json', 'print JSON Lines: one per step, then the total', false)
    .addHelpText(
      'after',
      examples(
        'turnstream replay --run my-run --step 12',
        'turnstream replay --run my-run --step 12 --train',
        'turnstream replay --run my-run --steps 10..20 --json',
        'turnstream replay --run my-run --all --train',
      ),
    )
    .action((options: ReplayArguments) => replayAction(context, options));
}

async function replayAction(context: CommandContext, options: ReplayArguments): Promise<void> {
  const { run, train, backend, fromStart, json } = options;
  const wanted = rangeOf(options);
  if (backend !== undefined && !train) throw new PlatformError('USAGE_INVALID', 'replaying a run: --backend needs --train');
  const config = loadConfig(context.env);
  const [{ replaySteps }, { renderStep }] = await Promise.all([import('./replay.ts'), import('./replay-view.ts')]);
  const { steps, differing, isExternal } = await replaySteps(config, {
    ...{ run, train, backend, fromStart, ...wanted },
    logger: commandLogger(context),
    onStep: (step, of) => {
      if (json) context.out(`${JSON.stringify({ run, ...step })}\n`);
      else
        context.out(
          of === 1 ? renderStep(step) : `${String(step.step - wanted.first + 1).padStart(String(of).length)}/${of} ${renderStep(step)}`,
        );
    },
  });
  if (json) context.out(`${JSON.stringify({ run, steps, differing, ok: differing === 0 })}\n`);
  else if (differing === 0) context.out(`ok: ${steps} steps match the ledger${train && !isExternal ? ', and so do their weights' : ''}\n`);
  if (train && isExternal)
    context.err(
      `the updates of run ${run} were not repeated: its trainer is not a part of turnstream, and only its batches are in the log\n`,
    );
  if (differing > 0)
    throw new PlatformError('REPLAY_DIFFERS', `replaying run ${run}: ${differing} of ${steps} steps differ from the ledger`);
}
