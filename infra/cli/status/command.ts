import { Command } from 'commander';
import { exitCodes } from '../../app/exit-codes.ts';
import { loadConfig } from '../../config/load.ts';
import { asTyped } from '../as-typed.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { examples, runSlug } from '../options.ts';

interface StatusArguments {
  readonly json: boolean;
  readonly run?: string;
  readonly showSecrets: boolean;
}

/** `turnstream status`: shows the services, the runs, or one run. */
export function statusCommand(context: CommandContext): Command {
  return new Command('status')
    .description('show addresses and runs; with --run, the results of one run')
    .option('--run <run>', 'show steps, reward, evaluations, staleness, discards, and advisories of this run', runSlug)
    .option('--json', 'print one JSON object', false)
    .option('--show-secrets', 'show the address of ClickHouse with its user and password, for SQL tools', false)
    .addHelpText(
      'after',
      examples(
        'turnstream status',
        'turnstream status --run my-run',
        'turnstream status --json',
        'turnstream status --json --show-secrets',
      ),
    )
    .action(async (options: StatusArguments) => {
      const config = loadConfig(context.env);
      const { readStatus, readRun } = await import('./status-report.ts');
      const logger = commandLogger(context);
      const { renderAdvisories, renderSummary } = await import('./summary-view.ts');
      const { renderStatus } = await import('./status-view.ts');
      if (options.run === undefined) {
        const status = await readStatus(config, logger, options.showSecrets);
        context.out(
          options.json ? `${JSON.stringify(status, null, 2)}\n` : asTyped(renderStatus(status, options.showSecrets), context.env),
        );
        if (status.unanswered.includes('clickhouse')) context.exit(exitCodes.usage);
        return;
      }
      const summary = await readRun(config, options.run, logger);
      const text = `${renderSummary(summary)}${renderAdvisories(summary.advisories)}`;
      context.out(options.json ? `${JSON.stringify(summary, null, 2)}\n` : text);
    });
}
