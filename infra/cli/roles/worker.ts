import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { examples, runSlug } from '../options.ts';

/** `turnstream worker`: one rollout worker of one run. */
export function workerCommand(context: CommandContext): Command {
  return new Command('worker')
    .description('run one rollout worker of a run')
    .requiredOption('--run <run>', 'run to produce trajectories for', runSlug)
    .option('--name <name>', 'name of the process in logs and metrics', 'worker')
    .addHelpText(
      'after',
      examples('turnstream worker --run my-run', 'KAFKA_BROKERS=kafka:9092 turnstream worker --run my-run --name worker-7'),
    )
    .action(async (options: { readonly run: string; readonly name: string }) => {
      const [{ runRole }, { workerRole }, { addressesForRole }] = await Promise.all([
        import('../../app/roles/role.ts'),
        import('../../app/roles/worker/worker.ts'),
        import('../../app/open/addresses.ts'),
      ]);
      const config = addressesForRole(loadConfig(context.env), { kafka: true, store: false });
      context.exit(await runRole({ name: options.name, config, main: workerRole(options) }, context.host));
    });
}
