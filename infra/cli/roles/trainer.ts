import { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
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
