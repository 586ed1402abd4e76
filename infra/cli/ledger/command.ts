import { Command } from 'commander';
import type { RunLedger } from './ledger.ts';
import { exitCodes } from '../../app/exit-codes.ts';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { examples, runSlug, wholeIn } from '../options.ts';

/** `turnstream ledger`: shows, verifies and compares ledgers. */
export function ledgerCommand(context: CommandContext): Command {
  const command = new Command('ledger').description('verify, show, and compare the ledgers of runs');
  command
    .command('verify')
    .description('check the hash chain from the first entry, the outcome of every trajectory, and the weights of every version')
    .option('--run <run>', 'only this run (default: every run)', runSlug)
    .option('--json', 'print JSON Lines', false)
    .addHelpText('after', examples('turnstream ledger verify', 'turnstream ledger verify --run my-run'))
    .action(async (options: { readonly run?: string; readonly json: boolean }) => {
      const config = loadConfig(context.env);
      const { verifyLedgers } = await import('./ledger.ts');
      const reports = await verifyLedgers(config, options.run, commandLogger(context));
      for (const { run, report } of reports) {
        if (options.json) context.out(`${JSON.stringify({ run, ...report })}\n`);
        else context.out(verdict({ run, report }));
      }
      if (reports.some(({ report }) => !report.ok)) context.exit(exitCodes.failed);
    });
  command
    .command('show')
    .description('print the entries of a run in order, one JSON object per line')
    .requiredOption('--run <run>', 'the run', runSlug)
    .option('--from <sequence>', 'first entry', wholeIn(0, Number.MAX_SAFE_INTEGER), 0)
    .option('--limit <entries>', 'maximum number of entries', wholeIn(1, Number.MAX_SAFE_INTEGER), 1_000)
    .addHelpText('after', examples('turnstream ledger show --run my-run --limit 5'))
    .action(async (options: { readonly run: string; readonly from: number; readonly limit: number }) => {
      const config = loadConfig(context.env);
      const { showLedger } = await import('./ledger.ts');
      await showLedger(config, { ...options, logger: commandLogger(context), out: context.out });
    });
  command.addCommand(diffCommand(context));
  return command;
}

function diffCommand(context: CommandContext): Command {
  return new Command('diff')
    .description('show where two runs first trained on different data, if they did; names, ids, and times are ignored')
    .argument('<a>', 'a run', runSlug)
    .argument('<b>', 'another run', runSlug)
    .option('--json', 'print one JSON object', false)
    .addHelpText(
      'after',
      examples('turnstream ledger diff my-run my-run-again', 'turnstream ledger diff my-run other --json') +
        '\n\nExits with 0 if the runs are the same, and with 1 if they differ.',
    )
    .action(async (a: string, b: string, options: { readonly json: boolean }) => {
      const config = loadConfig(context.env);
      const [{ diffRuns }, { renderDiff }] = await Promise.all([import('./ledger-diff.ts'), import('./diff-view.ts')]);
      const result = await diffRuns(config, { a, b }, commandLogger(context));
      context.out(options.json ? `${JSON.stringify(result, null, 2)}\n` : renderDiff(result));
      if (!result.diff.same) context.exit(exitCodes.failed);
    });
}

function verdict({ run, report }: RunLedger): string {
  const { ok, entries, steps, admitted, trained, collected, discarded, open, finished, continued, problems, notes } = report;
  const ends = `${finished ? ', finished' : ''}${continued === 0 ? '' : `, continued ${continued === 1 ? 'once' : `${continued} times`}`}`;
  const line = `${ok ? 'ok    ' : 'BROKEN'} ${run}: ${entries} entries, ${steps} steps, ${admitted} admitted = ${trained} trained + ${collected > 0 ? `${collected} collected + ` : ''}${discarded} discarded + ${open} open${ends}\n`;
  const details = problems.map(({ offset, problem }) => `       ${offset < 0 ? '' : `offset ${offset}: `}${problem}\n`);
  return line + [...details, ...notes.map((note) => `       note: ${note}\n`)].join('');
}
