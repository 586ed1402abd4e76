// The commands that run one role each. `warehouse` has commands of its own beside the role.
import { Command } from 'commander';
import type { Config } from '../../config/descriptors.ts';
import { isSet, loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { examples, runSlug, wholeIn } from '../options.ts';

/** `turnstream trainer`: the one trainer of a run. */
export function trainerCommand(context: CommandContext): Command {
  return new Command('trainer')
    .description('run the trainer of a run; it continues where the run stopped')
    .requiredOption('--run <run>', 'the run; created if it does not exist', runSlug)
    .option('--seed <seed>', 'seed of a new run', wholeIn(0, Number.MAX_SAFE_INTEGER), 1)
    .option('--steps <steps>', 'finish the run after this many steps; 0 = never', wholeIn(0, 1_000_000), 0)
    .option('--dataset <dataset>', 'question set of a new run')
    .addHelpText('after', examples('turnstream trainer --run my-run --seed 3 --steps 150'))
    .action(async (options: { readonly run: string; readonly seed: number; readonly steps: number; readonly dataset?: string }) => {
      const [{ runRole }, { trainerRole }, { addressesForRole }] = await Promise.all([
        import('../../app/roles/role.ts'),
        import('../../app/roles/trainer/trainer.ts'),
        import('../../app/open/addresses.ts'),
      ]);
      const overrides = options.dataset === undefined ? {} : { dataset: options.dataset };
      const config = addressesForRole(loadConfig(context.env, overrides), { kafka: true, store: false });
      context.exit(await runRole({ name: 'trainer', config, main: trainerRole(options), run: options.run }, context.host));
    });
}

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

/** Replaces a default port that another program uses with a free one, and reports that on standard error. */
async function onFreePort(context: CommandContext, config: Config): Promise<Config> {
  if (isSet(context.env, 'apiPort')) return config;
  const { freeApiPort } = await import('../../app/fleet/api-service.ts');
  const apiPort = await freeApiPort(config);
  if (apiPort === config.apiPort) return config;
  context.err(`another program has port ${config.apiPort}: the API listens on ${apiPort}; TURNSTREAM_API_PORT sets another one\n`);
  return { ...config, apiPort };
}

/** `turnstream api`: the HTTP interface. */
export function apiCommand(context: CommandContext): Command {
  return new Command('api')
    .description('serve REST, SQL, the live stream, metrics, and the schema registry')
    .addHelpText('after', examples('turnstream api', 'TURNSTREAM_API_PORT=9000 turnstream api'))
    .action(async () => {
      const [{ runRole }, { apiRole }, { addressesForRole }] = await Promise.all([
        import('../../app/roles/role.ts'),
        import('../../app/roles/api.ts'),
        import('../../app/open/addresses.ts'),
      ]);
      const config = addressesForRole(await onFreePort(context, loadConfig(context.env)), { kafka: true, store: true });
      context.exit(await runRole({ name: 'api', config, main: apiRole }, context.host));
    });
}

/** `turnstream store`: the embedded ClickHouse. */
export function storeCommand(context: CommandContext): Command {
  return new Command('store')
    .description("run the embedded ClickHouse, with ClickHouse's HTTP interface on 127.0.0.1")
    .addHelpText('after', examples('turnstream store', 'TURNSTREAM_STORE_PORT=8123 turnstream store'))
    .action(async () => {
      const [{ runRole }, { storeRole }] = await Promise.all([import('../../app/roles/role.ts'), import('../../app/roles/store.ts')]);
      context.exit(await runRole({ name: 'store', config: loadConfig(context.env), main: storeRole }, context.host));
    });
}
