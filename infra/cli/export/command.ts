import { Command, InvalidArgumentError, Option } from 'commander';
import { chatForms, exportKinds, type ChatForm, type ExportKind } from '../../../consumers/exports/shapes.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { exitCodes } from '../../app/exit-codes.ts';
import { exportFormats, type ExportFormat, type ExportReport } from './export.ts';
import { loadConfig } from '../../config/load.ts';
import { listenForInterrupts } from '../../lifecycle/interrupts.ts';
import { commandLogger } from '../command-logger.ts';
import type { CommandContext } from '../context.ts';
import { examples, runSlug, wholeIn } from '../options.ts';
import { createProgressLine } from '../views/progress-line.ts';

interface ExportFlags {
  readonly run: string;
  readonly what: ExportKind;
  readonly format?: ExportFormat;
  readonly where?: string;
  readonly minReward: number;
  readonly chat: ChatForm;
  readonly limit?: number;
  readonly out?: string;
}

function rewardOf(raw: string): number {
  const value = Number(raw);
  if (raw.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}

/** `turnstream export`: what a run has done, as a file that other tools read. */
export function exportCommand(context: CommandContext): Command {
  return new Command('export')
    .description(
      'write trajectories, turns, chats for fine-tuning, preference pairs, or token-level rows of a run as Parquet, JSON Lines, or Arrow, in constant memory',
    )
    .requiredOption('--run <run>', 'the run', runSlug)
    .addOption(
      new Option(
        '--what <what>',
        'trajectories, turns: rows of the tables; sft: {messages, reward, …} of trajectories above --min-reward; preferences: {prompt, chosen, rejected, …}, the best and the worst of each group; rows: token-level rows as a trainer reads them, of every trajectory that counts',
      )
        .choices([...exportKinds])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--format <format>',
        'jsonl has one JSON object per line; arrow is an Arrow IPC stream, only for rows (default: parquet, arrow for rows)',
      ).choices([...exportFormats]),
    )
    .option('--where <condition>', 'SQL condition over the columns of turns (for turns) or trajectories (for all others)')
    .option('--min-reward <reward>', 'sft: only trajectories with a higher reward', rewardOf, 0)
    .addOption(
      new Option('--chat <form>', 'sft, preferences: keep tool calls in the text, or write them as tool_calls with ids for chat templates')
        .choices([...chatForms])
        .default('text' satisfies ChatForm),
    )
    .option('--limit <rows>', 'write only the first rows, at most this many', wholeIn(1, Number.MAX_SAFE_INTEGER))
    .option('--out <file>', 'output file (default: standard output, unless it is a terminal)')
    .addHelpText(
      'after',
      examples(
        'turnstream export --run my-run --what turns --out turns.parquet',
        'turnstream export --run my-run --what sft --format jsonl --min-reward 0.5 --out sft.jsonl',
        'turnstream export --run my-run --what sft --chat tools --format jsonl --limit 1000 --out tools.jsonl',
        `turnstream export --run my-run --what preferences --format jsonl --where "purpose = 'train'" | head -n 1`,
        'turnstream export --run my-run --what rows --where "reward > 0" --out rows.arrow',
        'turnstream export --run my-run --what trajectories --where "version_first >= 10 AND tool_errors = 0" --out late.parquet',
      ),
    )
    .action(async (flags: ExportFlags) => {
      context.exit(await exportAs(context, flags));
    });
}

async function exportAs(context: CommandContext, flags: ExportFlags): Promise<number> {
  const { out } = flags;
  if (out === undefined && context.terminal === true) {
    throw new PlatformError('USAGE_INVALID', 'exporting: standard output is a terminal; give --out, or redirect it to a file or a program');
  }
  const format = formatOf(flags);
  const config = loadConfig(context.env);
  const { runExport } = await import('./export.ts');
  const { writeWhole } = await import('./export-file.ts');
  const interrupts = listenForInterrupts({ now: () => performance.now(), onSecond: () => process.exit(exitCodes.interrupted) });
  const line = createProgressLine(process.stderr);
  const began = performance.now();
  const { run, what: kind, where, minReward, chat, limit } = flags;
  const exportTo = (write: (bytes: Buffer) => Promise<void>): Promise<ExportReport> =>
    runExport({
      ...{ config, run, kind, format, minReward, chat, out: write, signal: interrupts.signal, logger: commandLogger(context) },
      ...(where === undefined ? {} : { where }),
      ...(limit === undefined ? {} : { limit }),
      onProgress: ({ rows, bytes }) => {
        line.show(`${rows} rows, ${paceOf(bytes, (performance.now() - began) / 1_000)}`);
      },
    });
  try {
    const report = await (out === undefined ? exportTo(context.bytes) : writeWhole(out, exportTo));
    line.end();
    context.err(renderReport(report, flags));
    return exitCodes.ok;
  } catch (error) {
    if (!interrupts.signal.aborted) throw error;
    line.end();
    context.err('exporting: stopped; nothing was left behind\n');
    return exitCodes.interrupted;
  } finally {
    line.end();
    interrupts.close();
  }
}

function formatOf({ what, format = what === 'rows' ? 'arrow' : 'parquet' }: ExportFlags): ExportFormat {
  if ((what === 'rows' ? 'parquet' : 'arrow') !== format) return format;
  throw new PlatformError(
    'USAGE_INVALID',
    `exporting ${what} as ${format}: rows are written as arrow or jsonl, everything else as parquet or jsonl`,
  );
}

const paceOf = (bytes: number, seconds: number): string =>
  `${(bytes / 1e6).toFixed(1)} MB, ${(bytes / 1e6 / Math.max(seconds, 0.001)).toFixed(1)} MB/s`;

function renderReport({ rows, bytes, leftOut, seconds }: ExportReport, { what, out }: ExportFlags): string {
  const things = what === 'preferences' ? 'groups' : 'trajectories';
  const less = leftOut === 0 ? '' : `; ${leftOut} ${things} left out because some of their turns are missing`;
  return `${rows} rows of ${what}, ${paceOf(bytes, seconds)}${out === undefined ? '' : `, in ${out}`}${less}\n`;
}
