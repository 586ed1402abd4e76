import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { listenForInterrupts } from '../../lifecycle/interrupts.ts';
import { aborted } from '../../lifecycle/waiting.ts';
import type { CommandContext } from '../context.ts';
import { examples, wholeIn } from '../options.ts';

/** `turnstream retrieval`: serves the factbook through ASearcher's retrieval interface. */
export function retrievalCommand(context: CommandContext): Command {
  return new Command('retrieval')
    .description("serve the factbook at /retrieve and /access, like ASearcher's local retrieval server; on this machine only")
    .option('--port <port>', 'port; 0 picks a free one', wholeIn(0, 65_535), 8_000)
    .addHelpText(
      'after',
      examples('turnstream retrieval --port 8000', 'TURNSTREAM_TOOLS=local TURNSTREAM_RETRIEVAL_URL=http://127.0.0.1:8000 turnstream up'),
    )
    .action(async ({ port }: { readonly port: number }) => {
      // the settings are not used, but a misspelled one is rejected as in every command
      loadConfig(context.env);
      const { serveFactbook } = await import('./retrieval.ts');
      const interrupts = listenForInterrupts({ onSecond: () => process.exit(130), now: () => performance.now() });
      const server = await serveFactbook('127.0.0.1', port);
      try {
        context.out(`${server.url}\n`);
        await aborted(interrupts.signal);
      } finally {
        await server.close();
        interrupts.close();
      }
    });
}
