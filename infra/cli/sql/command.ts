import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type { Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { examples } from '../options.ts';
import { createRowCount } from './row-count.ts';
import { PlatformError } from '../../../streams/core/errors.ts';

type SqlParams = Readonly<Record<string, unknown>>;

interface SqlArguments {
  readonly query?: string;
  readonly file?: string;
  readonly format?: string;
  readonly param: SqlParams;
}

const NAMED = /^([A-Za-z_]\w*)=(.*)$/s;

function addParam(raw: string, params: SqlParams): SqlParams {
  const [, name, value] = NAMED.exec(raw) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be <name>=<value>.');
  return { ...params, [name]: value.startsWith('[') ? arrayOf(value) : value };
}

function arrayOf(text: string): readonly unknown[] {
  try {
    return JSON.parse(text) as readonly unknown[];
  } catch {
    throw new InvalidArgumentError('An array is written as JSON: ["a","b"].');
  }
}

/** `turnstream sql`: runs one read-only query, or several at a prompt. Standard output gets only their rows. */
export function sqlCommand(context: CommandContext): Command {
  return new Command('sql')
    .description('run a read-only query, or several at a prompt; standard output has only the rows')
    .option('-q, --query <query>', 'query to run; without -q and -f, a terminal gets a prompt, and piped input is run')
    .option('-f, --file <file>', 'file with the query; - reads standard input')
    .option('--param <name=value>', 'value of {name:Type} in the query; repeatable; write arrays as JSON', addParam, {})
    .option('--format <format>', 'any ClickHouse output format (default: PrettyCompact in a terminal, TSV elsewhere)')
    .addHelpText(
      'after',
      examples(
        'turnstream sql',
        'turnstream sql -q "SELECT step, reward_mean FROM steps ORDER BY step"',
        'turnstream sql -q "SELECT step, reward_mean FROM steps WHERE run_id = {run:String}" --param run=my-run',
        'turnstream sql --format Parquet -q "SELECT * FROM steps" > steps.parquet',
        'echo "SELECT * FROM staleness_by_step" | turnstream sql --format CSVWithNames',
      ),
    )
    .action(async (options: SqlArguments) => {
      const config = loadConfig(context.env);
      const format = options.format ?? (context.terminal === true ? 'PrettyCompact' : 'TSV');
      const prompts = options.query === undefined && options.file === undefined && context.terminal === true && process.stdin.isTTY;
      if (prompts) {
        await prompt(context, { config, format, params: options.param });
        return;
      }
      const query = queryOf(options);
      const { streamQuery } = await import('./sql-query.ts');
      await streamQuery({ config, query, params: options.param, format, logger: commandLogger(context), out: context.bytes });
    });
}

interface Prompt {
  readonly config: Config;
  readonly format: string;
  readonly params: SqlParams;
}

async function prompt(context: CommandContext, { config, format, params }: Prompt): Promise<void> {
  const [{ streamQuery }, { runSqlPrompt }] = await Promise.all([import('./sql-query.ts'), import('./sql-prompt.ts')]);
  const { createSqlWords } = await import('./sql-words.ts');
  const logger = commandLogger(context);
  const now = (): number => performance.now();
  const ask = async (query: string): Promise<string> => {
    const parts: Buffer[] = [];
    await streamQuery({ config, query, format: 'TSV', logger, out: async (bytes) => void parts.push(bytes) });
    return Buffer.concat(parts).toString();
  };
  await runSqlPrompt({
    input: process.stdin,
    output: process.stderr,
    err: context.err,
    terminal: true,
    historyFile: join(config.dataDir, 'sql-history'),
    words: createSqlWords(ask, now),
    now,
    async run(query, signal) {
      const count = createRowCount(format);
      const out = async (bytes: Buffer): Promise<void> => {
        count.take(bytes);
        await context.bytes(bytes);
      };
      await streamQuery({ config, query, params, format, logger, signal, out });
      return count.rows();
    },
  });
}

/** The query of -q or -f; without either, what is piped to the command. */
function queryOf({ query, file }: SqlArguments): string {
  const text =
    query ?? (file === undefined && process.stdin.isTTY ? '' : readFileSync(file === undefined || file === '-' ? 0 : file, 'utf8'));
  if (text.trim() === '' || (query !== undefined && file !== undefined)) {
    throw new PlatformError('USAGE_INVALID', 'running a query: give one query, with -q <query>, with -f <file>, or on standard input');
  }
  return text;
}
