import { Command, InvalidArgumentError, Option } from 'commander';
import { topicOf } from '../../../schemas/subjects.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { LetterFilter } from '../../../consumers/dead-letters/letters.ts';
import { exitCodes } from '../../app/exit-codes.ts';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { examples, runSlug, wholeIn } from '../options.ts';

interface FilterArguments {
  readonly topic?: string;
  readonly reason?: string;
  readonly run?: string;
  readonly since?: number;
}

interface ListArguments extends FilterArguments {
  readonly open: boolean;
  readonly limit: number;
  readonly json: boolean;
}

interface RetryArguments extends FilterArguments {
  readonly all: boolean;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a time or an age into ms since the epoch. */
export function timeOrAge(raw: string, nowMs: number): number {
  const age = /^(\d{1,9})([smhd])$/.exec(raw);
  if (age !== null) return nowMs - Number(age[1]) * unitMs[age[2] as keyof typeof unitMs];
  const time = Date.parse(raw);
  if (Number.isNaN(time)) throw new InvalidArgumentError('It must be a time (2026-11-21T09:30:00Z) or an age (90s, 30m, 2h, 1d).');
  return time;
}

const topics = [...new Set(Object.values(topicOf))].sort();

const withFilters = (command: Command): Command =>
  command
    .addOption(new Option('--topic <topic>', 'topic of the original record').choices(topics))
    .option('--reason <reason>', 'reason of the failure, such as unknown_schema')
    .option('--run <run>', 'only records of this run', runSlug)
    .option('--since <time>', 'only dead letters written since a time, or an age such as 2h', (raw: string) => timeOrAge(raw, Date.now()));

const filterOf = ({ topic, reason, run, since }: FilterArguments): LetterFilter => ({
  ...(topic === undefined ? {} : { topic }),
  ...(reason === undefined ? {} : { reason }),
  ...(run === undefined ? {} : { run }),
  ...(since === undefined ? {} : { sinceMs: since }),
});

/** `turnstream dead-letters`: shows and retries records that could not be processed. */
export function deadLettersCommand(context: CommandContext): Command {
  const command = new Command('dead-letters').description('list, show, and retry records that could not be processed');
  command.addCommand(listCommand(context)).addCommand(showCommand(context)).addCommand(retryCommand(context));
  return command;
}

function listCommand(context: CommandContext): Command {
  return withFilters(new Command('list'))
    .description('list dead letters, newest last, followed by counts by topic and reason')
    .option('--open', 'only dead letters that were not retried', false)
    .option('--limit <letters>', 'maximum number of dead letters', wholeIn(1, 1_000_000), 50)
    .option('--json', 'print one JSON object', false)
    .addHelpText(
      'after',
      examples('turnstream dead-letters list', 'turnstream dead-letters list --reason unknown_schema --since 2h --open'),
    )
    .action(async (options: ListArguments) => {
      const config = loadConfig(context.env);
      const [{ listLetters }, { renderLetters }] = await Promise.all([import('./dead-letters.ts'), import('./dead-letters-view.ts')]);
      const filter = { ...filterOf(options), open: options.open };
      const list = await listLetters({ config, logger: commandLogger(context) }, filter, options.limit);
      context.out(options.json ? `${JSON.stringify(list, null, 2)}\n` : renderLetters(list));
    });
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('show one dead letter: its origin, reason, headers, and bytes, and the event if it can be decoded')
    .argument('<id>', 'id as shown by list, such as rollouts/3/1200')
    .addOption(new Option('--raw', 'write only the exact bytes of the original value').default(false).conflicts('json'))
    .option('--json', 'print one JSON object, with bytes in hexadecimal', false)
    .addHelpText(
      'after',
      examples('turnstream dead-letters show rollouts/3/1200', 'turnstream dead-letters show rollouts/3/1200 --raw > value.bin'),
    )
    .action(async (id: string, options: { readonly raw: boolean; readonly json: boolean }) => {
      const config = loadConfig(context.env);
      const [{ showLetter }, view] = await Promise.all([import('./dead-letters.ts'), import('./dead-letters-view.ts')]);
      const shown = await showLetter({ config, logger: commandLogger(context) }, id);
      const value = shown.event === undefined ? shown.record.value : shown.event.original_value;
      if (options.raw) await context.bytes(value ?? Buffer.alloc(0));
      else context.out(options.json ? `${view.toJson(shown, 2)}\n` : view.renderLetter(shown));
    });
}

function retryCommand(context: CommandContext): Command {
  return withFilters(new Command('retry'))
    .description('put the original bytes, key, and headers back on the original topic; safe to repeat')
    .argument('[ids...]', 'ids as shown by list')
    .option('--all', 'all dead letters that match the filters', false)
    .option('--force', 'also those that still cannot be decoded and, with --all, those that failed again after a retry', false)
    .option('--dry-run', 'only show what would be done', false)
    .option('--json', 'print JSON Lines', false)
    .addHelpText(
      'after',
      examples('turnstream dead-letters retry rollouts/3/1200', 'turnstream dead-letters retry --all --reason unknown_schema --dry-run'),
    )
    .action(async (ids: readonly string[], options: RetryArguments) => {
      const config = loadConfig(context.env);
      const filter = filterOf(options);
      assertChoice(ids, options.all, Object.keys(filter).length > 0);
      const [{ retryDeadLetters }, { renderRetry }] = await Promise.all([import('./dead-letters.ts'), import('./dead-letters-view.ts')]);
      const { force, dryRun } = options;
      const lines = await retryDeadLetters(
        { config, logger: commandLogger(context) },
        { letters: options.all ? filter : ids, force, dryRun },
      );
      context.out(options.json ? lines.map((line) => `${JSON.stringify(line)}\n`).join('') : renderRetry(lines));
      if (!options.all && lines.some(({ verdict }) => verdict === 'left')) context.exit(exitCodes.failed);
    });
}

function assertChoice(ids: readonly string[], all: boolean, filtered: boolean): void {
  const wrong = (what: string): PlatformError => new PlatformError('USAGE_INVALID', `retrying dead letters: ${what}`);
  if (all && ids.length > 0) throw wrong('give ids or --all, not both');
  if (!all && ids.length === 0) throw wrong('give the ids of letters, or --all; `turnstream dead-letters list` shows them');
  if (!all && filtered) throw wrong('filters go with --all');
}
