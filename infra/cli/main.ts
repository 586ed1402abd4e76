// The program: one file a command in commands/. A command answers its exit code or throws; nothing else ends the process.
import { Command, CommanderError } from 'commander';
import { isDiskFull } from '../lifecycle/disk-full.ts';
import { apiCommand } from './commands/api.ts';
import { auditCommand } from './commands/audit.ts';
import { configCommand } from './commands/config.ts';
import { deadLettersCommand } from './commands/dead-letters.ts';
import { doctorCommand } from './commands/doctor.ts';
import { evaluateCommand } from './commands/evaluate.ts';
import { exportCommand } from './commands/export.ts';
import { ledgerCommand } from './commands/ledger.ts';
import { loadCommand } from './commands/load.ts';
import { plotCommand } from './commands/plot.ts';
import { questionsCommand } from './commands/questions.ts';
import { replayCommand } from './commands/replay.ts';
import { retrievalCommand } from './commands/retrieval.ts';
import { serveCommand } from './commands/serve.ts';
import { sqlCommand } from './commands/sql.ts';
import { statusCommand } from './commands/status.ts';
import { storeCommand } from './commands/store.ts';
import { topicsCommand } from './commands/topics.ts';
import { trainerCommand } from './commands/trainer.ts';
import { upCommand } from './commands/up.ts';
import { warehouseCommand } from './commands/warehouse.ts';
import { workerCommand } from './commands/worker.ts';
import { version } from '../app/version.ts';
import type { CommandContext } from './context.ts';
import { describeError, exitCodeForCommand } from './report-error.ts';

const ABOUT = `Every turn of every rollout, from the tool call to the training step that learned from it.

Exit codes: 0 success · 1 failed check or unexpected error · 2 usage, configuration, or environment · 3 fenced by another trainer · 130 interrupted.`;

/** Builds the command tree. */
export function buildProgram(context: CommandContext): Command {
  const program = new Command('turnstream').description(ABOUT).version(version, '-V, --version', 'print the version');
  const commands = [
    upCommand,
    serveCommand,
    statusCommand,
    sqlCommand,
    exportCommand,
    auditCommand,
    ledgerCommand,
    replayCommand,
    deadLettersCommand,
    evaluateCommand,
    plotCommand,
    questionsCommand,
    loadCommand,
    retrievalCommand,
    topicsCommand,
    doctorCommand,
    configCommand,
    trainerCommand,
    workerCommand,
    warehouseCommand,
    apiCommand,
    storeCommand,
  ];
  for (const make of commands) program.addCommand(make(context));
  return settled(program, context);
}

/** What every command has: it throws instead of ending the process, and writes where the context says. */
function settled(command: Command, context: CommandContext): Command {
  command.exitOverride().showHelpAfterError('(see --help)').configureOutput({ writeOut: context.out, writeErr: context.err });
  for (const sub of command.commands) settled(sub, context);
  return command;
}

/** Runs the command line and ends the process with its exit code. `program` is the file that Node was started with. */
export async function main(argv: readonly string[], program: string): Promise<void> {
  let exitCode = 0;
  const context: CommandContext = {
    env: process.env,
    program,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    bytes: (bytes) =>
      new Promise((resolve) => {
        if (process.stdout.write(bytes)) resolve();
        else process.stdout.once('drain', resolve);
      }),
    terminal: process.stdout.isTTY,
    exit: (code) => {
      exitCode = code;
    },
  };
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // what `up` and `serve` print is for information: a full disk under it must not end a run
    if ((argv[0] === 'up' || argv[0] === 'serve') && isDiskFull(error)) return;
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  try {
    await buildProgram(context).parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) process.stderr.write(describeError(error, process.env['TURNSTREAM_LOG_LEVEL'] === 'debug'));
    exitCode = exitCodeForCommand(error);
  }
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit(exitCode);
}
