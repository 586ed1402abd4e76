import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../context.ts';
import { examples } from '../options.ts';

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
