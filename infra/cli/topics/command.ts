import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { examples } from '../options.ts';

/** `turnstream topics`: lists and creates the topics of the log. */
export function topicsCommand(context: CommandContext): Command {
  const command = new Command('topics').description('create and list topics');
  command
    .command('apply')
    .description('create missing topics, add partitions, and set retention; never shrinks a topic')
    .addHelpText('after', examples('turnstream topics apply', 'TURNSTREAM_PARTITIONS_ROLLOUTS=16 turnstream topics apply'))
    .action(async () => {
      const config = loadConfig(context.env);
      const { applyTopics } = await import('./topics.ts');
      const { created, grown, reconfigured, unchanged } = await applyTopics(config, commandLogger(context));
      for (const topic of created) context.out(`made ${topic}\n`);
      for (const { topic, from, to } of grown) context.out(`grew ${topic} from ${from} to ${to} partitions\n`);
      for (const topic of reconfigured) context.out(`configured ${topic}\n`);
      context.out(`${unchanged.length} topics are up to date\n`);
    });
  command
    .command('list')
    .description('list the topics of the namespace with their number of partitions')
    .addHelpText('after', examples('turnstream topics list'))
    .action(async () => {
      const config = loadConfig(context.env);
      const { listTopics } = await import('./topics.ts');
      for (const { topic, partitions } of await listTopics(config, commandLogger(context))) {
        context.out(`${config.namespace}.${topic}\t${partitions}\n`);
      }
    });
  return command;
}
