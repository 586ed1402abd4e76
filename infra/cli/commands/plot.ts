import { Command, Option } from 'commander';
import { plotFormats, type PlotFormat } from '../../app/plot.ts';
import { loadConfig } from '../../config/load.ts';
import { commandLogger } from '../command-logger.ts';
import type { CommandContext } from '../context.ts';
import { examples, runSlug } from '../options.ts';

interface PlotFlags {
  readonly run: string;
  readonly out: string;
  readonly format: PlotFormat;
}

/** `turnstream plot`: the curves of a run as files. */
export function plotCommand(context: CommandContext): Command {
  return new Command('plot')
    .description('draw the curves of a run: reward, F1, turns, tool calls, tokens, format, discards, staleness')
    .requiredOption('--run <run>', 'the run', runSlug)
    .requiredOption('--out <directory>', 'where to; made when it is not there')
    .addOption(
      new Option('--format <format>', 'SVG files with an index.html, event files for TensorBoard in tensorboard/<run>, or both')
        .choices([...plotFormats])
        .default('all' satisfies PlotFormat),
    )
    .addHelpText(
      'after',
      examples('turnstream plot --run my-run --out curves', 'turnstream plot --run my-run --out curves --format tensorboard'),
    )
    .action(async ({ run, out, format }: PlotFlags) => {
      const { countOf, plotRun } = await import('../../app/plot.ts');
      const { steps, unit, files } = await plotRun({ config: loadConfig(context.env), logger: commandLogger(context), run, out, format });
      context.out(`${countOf(steps, unit)}, ${files.length} files in ${out}\n`);
      if (format !== 'svg') context.out(`tensorboard --logdir ${out}/tensorboard\n`);
    });
}
