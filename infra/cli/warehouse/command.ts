import { Command } from 'commander';
import { exitCodes } from '../../app/exit-codes.ts';
import { loadConfig } from '../../config/load.ts';
import { listenForInterrupts } from '../../lifecycle/interrupts.ts';
import { renderAudit } from '../audit/audit-view.ts';
import { commandLogger } from '../command-logger.ts';
import type { CommandContext } from '../context.ts';
import { examples, wholeIn } from '../options.ts';
import { createProgressLine } from '../views/progress-line.ts';
import { createRebuildLines, renderRebuild } from './rebuild-view.ts';

/** `turnstream warehouse`: runs one sink, and rebuilds the tables. */
export function warehouseCommand(context: CommandContext): Command {
  const command = new Command('warehouse')
    .description('run a sink that stores every record of the log in ClickHouse exactly once')
    .addHelpText(
      'after',
      examples(
        'turnstream warehouse',
        'KAFKA_BROKERS=kafka:9092 CLICKHOUSE_URL=http://clickhouse:8123 turnstream warehouse',
        'turnstream warehouse fill',
        'turnstream warehouse rebuild',
        'turnstream warehouse mend',
      ),
    )
    .action(async () => {
      const [{ runRole }, { warehouseRole }, { addressesForRole }] = await Promise.all([
        import('../../app/roles/role.ts'),
        import('../../app/roles/warehouse.ts'),
        import('../../app/open/addresses.ts'),
      ]);
      const config = addressesForRole(loadConfig(context.env), { kafka: true, store: true });
      context.exit(await runRole({ name: 'warehouse', config, main: warehouseRole }, context.host));
    });
  return command.addCommand(fillCommand(context)).addCommand(rebuildCommand(context)).addCommand(mendCommand(context));
}

function fillCommand(context: CommandContext): Command {
  return new Command('fill')
    .description('bring the tables up to the end of the log, then exit; if sinks are running, wait for them')
    .addHelpText('after', examples('turnstream warehouse fill && turnstream sql -q "SELECT count() FROM questions"'))
    .action(async () => {
      const config = loadConfig(context.env);
      const { fillWarehouse } = await import('./fill.ts');
      const interrupts = listenForInterrupts({ now: () => performance.now(), onSecond: () => process.exit(exitCodes.interrupted) });
      const line = createProgressLine(process.stderr);
      const complete = await fillWarehouse({
        ...{ config, logger: commandLogger(context), signal: interrupts.signal },
        onProgress: ({ done, of }) => {
          line.show(`${done} of ${of} records stored`);
        },
      }).finally(() => {
        line.end();
        interrupts.close();
      });
      if (complete) context.out('every record of the log is stored\n');
      else context.exit(exitCodes.interrupted);
    });
}

interface RebuildFlags {
  readonly wait: number;
  readonly dropExpired: boolean;
}

function rebuildCommand(context: CommandContext): Command {
  return new Command('rebuild')
    .description('drop the tables, fill them again from the log, and compare both; refuses while a sink runs')
    .option('--wait <seconds>', 'wait this long for running sinks to stop instead of refusing', wholeIn(0, 86_400), 0)
    .option('--drop-expired', 'continue even if rows are lost whose records retention has deleted', false)
    .addHelpText('after', examples('turnstream warehouse rebuild', 'turnstream warehouse rebuild --wait 60'))
    .action(async (flags: RebuildFlags) => {
      context.exit(await rebuildAs(context, flags));
    });
}

function mendCommand(context: CommandContext): Command {
  return new Command('mend')
    .description('show partitions in which the log no longer has the position of the sink (then exit code 1); with --yes, repair them')
    .option('--yes', 'repair: delete rows whose records the log has lost, and skip records that it lost before they were stored', false)
    .option('--json', 'print every partition as one JSON array', false)
    .addHelpText('after', examples('turnstream warehouse mend', 'turnstream warehouse mend --yes'))
    .action(async ({ yes, json }: { readonly yes: boolean; readonly json: boolean }) => {
      const config = loadConfig(context.env);
      const [{ mendWarehouse }, { renderMend }] = await Promise.all([import('./mend.ts'), import('./mend-view.ts')]);
      const found = await mendWarehouse({ config, logger: commandLogger(context), apply: yes });
      context.out(json ? `${JSON.stringify(found, null, 2)}\n` : renderMend(found, yes));
      if (!yes && found.some(({ mend }) => mend !== undefined)) context.exit(exitCodes.failed);
    });
}

async function rebuildAs(context: CommandContext, flags: RebuildFlags): Promise<number> {
  const config = loadConfig(context.env);
  const interrupts = listenForInterrupts({ now: () => performance.now(), onSecond: () => process.exit(exitCodes.interrupted) });
  const line = createProgressLine(process.stderr);
  const textOf = createRebuildLines();
  try {
    const { rebuildWarehouse } = await import('./rebuild.ts');
    const report = await rebuildWarehouse({
      config,
      logger: commandLogger(context),
      waitMs: flags.wait * 1_000,
      dropExpired: flags.dropExpired,
      signal: interrupts.signal,
      onProgress: (progress) => {
        line.show(textOf(progress, performance.now()));
      },
    });
    line.end();
    if (report.audit?.ok === false) context.out(renderAudit(report.audit));
    context.out(renderRebuild(report));
    if (!report.complete) return exitCodes.interrupted;
    return report.audit?.ok === true ? exitCodes.ok : exitCodes.failed;
  } finally {
    line.end();
    interrupts.close();
  }
}
