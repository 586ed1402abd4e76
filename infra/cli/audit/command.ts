import { Command } from 'commander';
import type { AuditSample } from '../../../consumers/warehouse/audit-slices.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { exitCodes } from '../../app/exit-codes.ts';
import { loadConfig } from '../../config/load.ts';
import { listenForInterrupts } from '../../lifecycle/interrupts.ts';
import type { CommandContext } from '../context.ts';
import { commandLogger } from '../command-logger.ts';
import { examples, numberIn, wholeIn } from '../options.ts';
import { createProgressLine } from '../views/progress-line.ts';

interface AuditArguments {
  readonly json: boolean;
  readonly wait: number;
  readonly differences: number;
  readonly sample?: number;
  readonly seed?: number;
  readonly resume: boolean;
}

/** `turnstream audit`: compares the log with the tables. */
export function auditCommand(context: CommandContext): Command {
  return new Command('audit')
    .description('compare the log with the tables by count and by checksum')
    .option('--wait <seconds>', 'time to wait for a running sink to catch up', wholeIn(0, 86_400), 60)
    .option('--differences <rows>', 'maximum number of differing rows to list', wholeIn(1, 10_000), 20)
    .option('--sample <percent>', 'compare only this share of the log, in slices from all over it', numberIn(0.001, 100))
    .option('--seed <number>', 'seed of the sample; the same seed draws the same slices', wholeIn(0, 999_999_999))
    .option('--resume', 'continue the last interrupted audit', false)
    .option('--json', 'print one JSON object', false)
    .addHelpText(
      'after',
      examples('turnstream audit', 'turnstream audit --sample 5', 'turnstream audit --resume', 'turnstream audit --json'),
    )
    .action(async (options: AuditArguments) => {
      context.exit(await auditAs(context, options));
    });
}

function sampleOf({ sample, seed, resume }: AuditArguments): { readonly sample?: AuditSample } {
  if (sample !== undefined && resume)
    throw new PlatformError('USAGE_INVALID', 'auditing: a sample cannot be resumed; give --sample or --resume');
  if (sample === undefined && seed !== undefined) throw new PlatformError('USAGE_INVALID', 'auditing: --seed needs --sample');
  return sample === undefined ? {} : { sample: { share: sample / 100, seed: seed ?? Date.now() % 1_000_000_000 } };
}

async function auditAs(context: CommandContext, options: AuditArguments): Promise<number> {
  const sample = sampleOf(options);
  const config = loadConfig(context.env);
  const [{ runAudit }, view] = await Promise.all([import('./audit.ts'), import('./audit-view.ts')]);
  const interrupts = listenForInterrupts({ now: () => performance.now(), onSecond: () => process.exit(exitCodes.interrupted) });
  const line = createProgressLine(process.stderr);
  const textOf = view.createAuditLines();
  try {
    const result = await runAudit(config, {
      ...{ waitMs: options.wait * 1_000, differences: options.differences, resume: options.resume, ...sample },
      signal: interrupts.signal,
      logger: commandLogger(context),
      onProgress: (progress) => {
        line.show(textOf(progress, performance.now()));
      },
    });
    line.end();
    context.out(options.json ? `${JSON.stringify(result, null, 2)}\n` : view.renderAudit(result));
    if (!result.complete) return exitCodes.interrupted;
    return result.ok ? exitCodes.ok : exitCodes.failed;
  } finally {
    line.end();
    interrupts.close();
  }
}
