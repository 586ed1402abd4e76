// The CLI program: one folder per command. A command returns its exit code or throws; nothing else ends the process.
import { Command, CommanderError } from 'commander';
import { isDiskFull } from '../lifecycle/disk-full.ts';
import { asTyped } from './as-typed.ts';
import { auditCommand } from './audit/command.ts';
import { configCommand } from './config/command.ts';
import { deadLettersCommand } from './dead-letters/command.ts';
import { doctorCommand } from './doctor/command.ts';
import { evaluateCommand } from './evaluate/command.ts';
import { exportCommand } from './export/command.ts';
import { ledgerCommand } from './ledger/command.ts';
import { loadCommand } from './load/command.ts';
import { plotCommand } from './plot/command.ts';
import { questionsCommand } from './questions/command.ts';
import { replayCommand } from './replay/command.ts';
import { retrievalCommand } from './retrieval/command.ts';
import { apiCommand, storeCommand, trainerCommand, workerCommand } from './roles/command.ts';
import { serveCommand } from './serve/command.ts';
import { sqlCommand } from './sql/command.ts';
import { statusCommand } from './status/command.ts';
import { topicsCommand } from './topics/command.ts';
import { upCommand } from './up/command.ts';
import { warehouseCommand } from './warehouse/command.ts';
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
  return configured(program, context);
}

/** Settings of every command: it throws instead of ending the process, and writes to the streams of the context. */
function configured(command: Command, context: CommandContext): Command {
  command
    .exitOverride()
    .showHelpAfterError('(see --help)')
    .configureOutput({
      writeOut: (text) => {
        context.out(asTyped(text, context.env));
      },
      writeErr: (text) => {
        context.err(asTyped(text, context.env));
      },
    });
  for (const sub of command.commands) configured(sub, context);
  return command;
}

/**
 * Handles a failed write of output. The output of `up` and `serve` is informational: a full disk does not end them, and when its reader is
 * gone, they stop in order, as if their terminal was closed.
 */
function outputLoss(isService: boolean): (error: NodeJS.ErrnoException) => void {
  let isHungUp = false;
  return (error) => {
    if (isHungUp || (isService && isDiskFull(error))) return;
    isHungUp = isService && error.code === 'EPIPE' && process.emit('SIGHUP', 'SIGHUP');
    if (!isHungUp) process.exit(error.code === 'EPIPE' ? 0 : 1);
  };
}

/** Runs the command line and ends the process with its exit code. `program` is the script that Node was started with. */
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
  const onLostOutput = outputLoss(argv[0] === 'up' || argv[0] === 'serve');
  for (const stream of [process.stdout, process.stderr]) stream.on('error', onLostOutput);
  try {
    await buildProgram(context).parseAsync(argv, { from: 'user' });
  } catch (error) {
    const text = error instanceof CommanderError ? '' : describeError(error, process.env['TURNSTREAM_LOG_LEVEL'] === 'debug');
    process.stderr.write(asTyped(text, process.env));
    exitCode = exitCodeForCommand(error);
  }
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit(exitCode);
}
