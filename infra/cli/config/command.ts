import { Command } from 'commander';
import { loadConfig, redact } from '../../config/load.ts';
import { descriptors } from '../../config/descriptors.ts';
import type { CommandContext } from '../context.ts';
import { examples } from '../options.ts';

/** `turnstream config`: prints the configuration in effect. */
export function configCommand(context: CommandContext): Command {
  return new Command('config')
    .description('print the configuration in force, without secrets')
    .option('--json', 'print one JSON object, keyed by the names in the code', false)
    .addHelpText('after', examples('turnstream config', 'TURNSTREAM_GROUP_SIZE=16 turnstream config --json'))
    .action((options: { readonly json: boolean }) => {
      const shown = redact(loadConfig(context.env));
      if (options.json) {
        context.out(`${JSON.stringify(shown, null, 2)}\n`);
        return;
      }
      for (const [key, { env }] of Object.entries(descriptors)) context.out(`${env}=${textOf(shown[key])}\n`);
    });
}

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value));
