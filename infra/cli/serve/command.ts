import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { examples } from '../options.ts';

const HELP = `
Starts the warehouse and the API, and a local Kafka and ClickHouse unless they are configured, without training. Use it to look
at earlier runs over REST, SQL, and Grafana, and to store events from elsewhere. Ctrl-C stops everything in order.
\`turnstream status\`, in another terminal, lists the runs and the addresses.
`;

/** `turnstream serve`: starts everything except training. */
export function serveCommand(context: CommandContext): Command {
  return new Command('serve')
    .description('open existing runs for REST, SQL, and the live stream, without training')
    .addHelpText('after', HELP + examples('turnstream serve', 'TURNSTREAM_API_PORT=9000 turnstream serve'))
    .action(async () => {
      const config = loadConfig(context.env);
      const { runUp } = await import('../up/run-up.ts');
      context.exit(await runUp(context, { config, training: undefined }));
    });
}
