import { Command, InvalidArgumentError, Option } from 'commander';
import type { LoadCounts } from '../../../producers/load/write-load.ts';
import { defaultShape, lengthOf, MOST_TURNS } from '../../../producers/load/shape.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { exitCodes } from '../../app/exit-codes.ts';
import { loadConfig } from '../../config/load.ts';
import { listenForInterrupts } from '../../lifecycle/interrupts.ts';
import { commandLogger } from '../command-logger.ts';
import type { CommandContext } from '../context.ts';
import { examples, runSlug, wholeIn } from '../options.ts';

interface LoadFlags {
  readonly run?: string;
  readonly purpose: 'external' | 'train';
  readonly rate: number;
  readonly turns?: number;
  readonly trajectories?: number;
  readonly open: number;
  readonly turnBytes: number;
  readonly meanTurns: number;
  readonly maxTurns?: number;
  readonly faults: number;
  readonly groupSize: number;
  readonly concurrent: number;
  readonly seed: number;
}

const MOST = 1_000_000_000;
const PROGRESS_MS = 1_000;

function shareOf(raw: string): number {
  const share = Number(raw);
  if (raw.trim() === '' || !(share >= 0 && share <= 0.5)) throw new InvalidArgumentError('It must be a number from 0 to 0.5.');
  return share;
}

function meanOf(raw: string): number {
  const mean = Number(raw);
  if (raw.trim() === '' || !(mean >= 1 && mean <= MOST_TURNS)) {
    throw new InvalidArgumentError(`It must be a number from 1 to ${MOST_TURNS}.`);
  }
  return mean;
}

/** `turnstream load`: writes synthetic rollouts with the shape of real ones. */
export function loadCommand(context: CommandContext): Command {
  return new Command('load')
    .description('write synthetic rollouts, shaped like long search trajectories and marked as synthetic, to the log')
    .option('--run <run>', 'run id of the rollouts (default: synthetic-<time>)', runSlug)
    .option('--turns <turns>', 'number of turns, rounded up to whole groups', wholeIn(1, MOST))
    .option('--trajectories <count>', 'number of trajectories, in whole groups', wholeIn(1, MOST))
    .option('--rate <rate>', 'turns per second; 0 = as fast as possible', wholeIn(0, 10_000_000), 0)
    .option('--open <count>', 'number of trajectories to leave unfinished, starting with the first', wholeIn(0, MOST), 0)
    .option('--turn-bytes <bytes>', 'encoded size of a turn; at least the size of its ids (about 300)', wholeIn(1, 800_000), 2_000)
    .option(
      '--mean-turns <turns>',
      'mean turns per trajectory; the distribution is log-normal, capped at --max-turns',
      meanOf,
      defaultShape.meanTurns,
    )
    .option('--max-turns <turns>', 'maximum turns per trajectory (default: 128, or 17 times a larger mean)', wholeIn(1, MOST_TURNS))
    .option('--faults <share>', 'share of failed tool calls and of broken attempts', shareOf, defaultShape.faults)
    .option('--group-size <size>', 'trajectories per group', wholeIn(1, 256), defaultShape.groupSize)
    .option('--concurrent <count>', 'concurrent trajectories', wholeIn(1, 1_000_000), 512)
    .addOption(new Option('--purpose <purpose>', 'purpose of the events').choices(['external', 'train']).default('external'))
    .option('--seed <seed>', 'the same seed writes the same trajectories', wholeIn(0, Number.MAX_SAFE_INTEGER), 1)
    .addHelpText(
      'after',
      examples(
        'turnstream load --turns 100000',
        'turnstream load --trajectories 1 --group-size 1 --mean-turns 30000',
        'turnstream load --rate 2000                        until Ctrl-C',
        'turnstream load --trajectories 50000 --open 50000 --mean-turns 40 --turn-bytes 300',
      ),
    )
    .action(async (flags: LoadFlags) => {
      context.exit(await writeLoadAs(context, flags));
    });
}

async function writeLoadAs(context: CommandContext, flags: LoadFlags): Promise<number> {
  const endless = flags.turns === undefined && flags.trajectories === undefined;
  if (endless && flags.rate === 0) {
    throw new PlatformError('USAGE_INVALID', 'writing load: it needs an end or a rate; give --turns, --trajectories or --rate');
  }
  const config = loadConfig(context.env);
  const interrupts = listenForInterrupts({ now: () => performance.now(), onSecond: () => process.exit(exitCodes.interrupted) });
  const progress = createProgressLine((text) => void process.stderr.write(text), process.stderr.isTTY);
  try {
    const { runLoad } = await import('./load.ts');
    const report = await runLoad({
      config,
      logger: commandLogger(context),
      load: loadOptions(flags),
      rate: flags.rate,
      signal: interrupts.signal,
      onProgress: (counts) => {
        progress.show(counts);
      },
    });
    progress.end();
    const pace = Math.round(report.turns / Math.max(report.seconds, 0.001));
    context.out(
      `run ${report.run}: ${report.turns} turns of ${report.trajectories} trajectories (${report.finished} finished) in ${report.seconds.toFixed(1)} s, ${pace} turns/s, seed ${flags.seed}\n`,
    );
    return interrupts.signal.aborted && !endless ? exitCodes.interrupted : exitCodes.ok;
  } finally {
    progress.end();
    interrupts.close();
  }
}

const loadOptions = (flags: LoadFlags) => ({
  runId: flags.run ?? `synthetic-${new Date().toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}`,
  purpose: flags.purpose,
  seed: flags.seed,
  shape: {
    ...defaultShape,
    turnBytes: flags.turnBytes,
    ...lengthOf(flags.meanTurns, flags.maxTurns),
    faults: flags.faults,
    groupSize: flags.groupSize,
  },
  trajectories: flags.trajectories ?? Infinity,
  turns: flags.turns ?? Infinity,
  open: flags.open,
  places: flags.concurrent,
});

/** One progress line: repainted in a terminal, otherwise printed at intervals. */
function createProgressLine(write: (text: string) => void, terminal: boolean) {
  const began = performance.now();
  let shown = 0;
  let dirty = false;
  return {
    show({ turns, finished, trajectories }: Readonly<LoadCounts>): void {
      const now = performance.now();
      if (now - shown < (terminal ? PROGRESS_MS / 4 : PROGRESS_MS * 5)) return;
      shown = now;
      const pace = Math.round((turns * 1_000) / (now - began));
      const text = `${turns} turns, ${pace}/s, ${trajectories} trajectories, ${finished} finished`;
      write(terminal ? `\r\u001b[K${text}` : `${text}\n`);
      dirty = terminal;
    },
    end(): void {
      if (dirty) write('\n');
      dirty = false;
    },
  };
}
