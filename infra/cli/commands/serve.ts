import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { examples } from '../options.ts';

const HELP = `
Starts Kafka, ClickHouse, the warehouse and the API, those that are not configured as \`turnstream up\` does, and trains
nothing: for looking at runs of other days over REST, SQL and Grafana, and for events from elsewhere. Ctrl-C stops all of it
in order. \`turnstream status\`, in another terminal, lists the runs and the addresses.
`;

/** `turnstream serve`: everything but training. */
export function serveCommand(context: CommandContext): Command {
  return new Command('serve')
    .description('open what is there: REST, SQL and the live stream over all runs; trains nothing')
    .addHelpText('after', HELP + examples('turnstream serve', 'TURNSTREAM_API_PORT=9000 turnstream serve'))
    .action(async () => {
      const config = loadConfig(context.env);
      const { runUp } = await import('../run-up.ts');
      context.exit(await runUp(context, { config, training: undefined }));
    });
}
