import { Command } from 'commander';
import type { Config } from '../../config/descriptors.ts';
import { isSet, loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { examples } from '../options.ts';

/** In place of a default port that another program has, a free one; said where a terminal or a log shows it. */
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
