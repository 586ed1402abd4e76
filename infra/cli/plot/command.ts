import { Command, InvalidArgumentError, Option } from 'commander';
import { plotFormats, type PlotFormat } from './plot.ts';
import { loadConfig } from '../../config/load.ts';
import { commandLogger } from '../command-logger.ts';
import type { CommandContext } from '../context.ts';
import { examples, runSlug } from '../options.ts';

interface PlotFlags {
  readonly run: string;
  readonly out: string;
  readonly format: PlotFormat;
  readonly axis: 'step' | 'time';
  readonly smooth: number;
}

function weight(raw: string): number {
  const value = Number(raw);
  if (raw.trim() === '' || !(value >= 0 && value < 1)) throw new InvalidArgumentError('It must be a number of at least 0 and below 1.');
  return value;
}

/** `turnstream plot`: writes the curves of a run to files. */
export function plotCommand(context: CommandContext): Command {
  return new Command('plot')
    .description('draw the curves of a run: held-out Avg@k, reward, F1, turns, tool calls, tokens, format, discards, staleness')
    .requiredOption('--run <run>', 'the run', runSlug)
    .requiredOption('--out <directory>', 'output directory; created if it does not exist')
    .addOption(
      new Option('--format <format>', 'SVG files with an index.html, TensorBoard event files in tensorboard/<run>, or both')
        .choices([...plotFormats])
        .default('all' satisfies PlotFormat),
    )
    .addOption(new Option('--axis <axis>', 'x-axis of the charts').choices(['step', 'time']).default('step'))
    .option('--smooth <weight>', 'weight of the exponential moving average, as in TensorBoard: 0 (none) to below 1', weight, 0)
    .addHelpText(
      'after',
      examples(
        'turnstream plot --run my-run --out curves',
        'turnstream plot --run my-run --out curves --axis time --smooth 0.8',
        'turnstream plot --run my-run --out curves --format tensorboard',
      ),
    )
    .action(async ({ run, out, format, axis, smooth: smoothing }: PlotFlags) => {
      const { countOf, plotRun } = await import('./plot.ts');
      const what = { run, out, format, axis, smoothing };
      const { steps, unit, files } = await plotRun({ config: loadConfig(context.env), logger: commandLogger(context), ...what });
      context.out(`${countOf(steps, unit)}, ${files.length} files in ${out}\n`);
      if (format !== 'svg') context.out(`tensorboard --logdir ${out}/tensorboard\n`);
    });
}
