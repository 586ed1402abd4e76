// The CLI program: one folder per command. A command returns its exit code or throws; nothing else ends the process.
import { Command, CommanderError } from 'commander';
import { isDiskFull } from '../lifecycle/disk-full.ts';
import { asTyped } from './as-typed.ts';
import { version } from '../app/version.ts';
import type { CommandContext } from './context.ts';
import { describeError, exitCodeForCommand } from './report-error.ts';
import { outputTo } from './views/output.ts';

const ABOUT = `Every turn of every rollout, from the tool call to the training step that learned from it.

Exit codes: 0 success · 1 failed check or unexpected error · 2 usage, configuration, or environment · 3 fenced by another trainer · 130 interrupted.`;

type MakeCommand = (context: CommandContext) => Command;

/** The commands, in the order of the help. The modules of a command are loaded only when it is called: a role starts sooner. */
const commands: ReadonlyMap<string, () => Promise<MakeCommand>> = new Map(
  Object.entries({
    up: async () => (await import('./up/command.ts')).upCommand,
    serve: async () => (await import('./serve/command.ts')).serveCommand,
    status: async () => (await import('./status/command.ts')).statusCommand,
    sql: async () => (await import('./sql/command.ts')).sqlCommand,
    export: async () => (await import('./export/command.ts')).exportCommand,
    audit: async () => (await import('./audit/command.ts')).auditCommand,
    ledger: async () => (await import('./ledger/command.ts')).ledgerCommand,
    replay: async () => (await import('./replay/command.ts')).replayCommand,
    'dead-letters': async () => (await import('./dead-letters/command.ts')).deadLettersCommand,
    evaluate: async () => (await import('./evaluate/command.ts')).evaluateCommand,
    plot: async () => (await import('./plot/command.ts')).plotCommand,
    questions: async () => (await import('./questions/command.ts')).questionsCommand,
    load: async () => (await import('./load/command.ts')).loadCommand,
    retrieval: async () => (await import('./retrieval/command.ts')).retrievalCommand,
    topics: async () => (await import('./topics/command.ts')).topicsCommand,
    doctor: async () => (await import('./doctor/command.ts')).doctorCommand,
    config: async () => (await import('./config/command.ts')).configCommand,
    trainer: async () => (await import('./roles/command.ts')).trainerCommand,
    worker: async () => (await import('./roles/command.ts')).workerCommand,
    warehouse: async () => (await import('./warehouse/command.ts')).warehouseCommand,
    api: async () => (await import('./roles/command.ts')).apiCommand,
    store: async () => (await import('./roles/command.ts')).storeCommand,
  }),
);

/** Builds the command tree. With the arguments of a call that starts with the name of a command, the tree has only this command. */
export async function buildProgram(context: CommandContext, [name = '']: readonly string[] = []): Promise<Command> {
  const program = new Command('turnstream').description(ABOUT).version(version, '-V, --version', 'print the version');
  const called = commands.get(name);
  const loaded = await Promise.all((called === undefined ? [...commands.values()] : [called]).map((load) => load()));
  for (const make of loaded) program.addCommand(make(context));
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
  const [stdout, stderr] = [outputTo(process.stdout), outputTo(process.stderr)];
  const context: CommandContext = {
    env: process.env,
    program,
    out: stdout.text,
    err: stderr.text,
    bytes: stdout.bytes,
    terminal: process.stdout.isTTY,
    exit: (code) => {
      exitCode = code;
    },
  };
  const onLostOutput = outputLoss(argv[0] === 'up' || argv[0] === 'serve');
  for (const stream of [process.stdout, process.stderr]) stream.on('error', onLostOutput);
  try {
    await (await buildProgram(context, argv)).parseAsync(argv, { from: 'user' });
  } catch (error) {
    const text = error instanceof CommanderError ? '' : describeError(error, process.env['TURNSTREAM_LOG_LEVEL'] === 'debug');
    stderr.text(asTyped(text, process.env));
    exitCode = exitCodeForCommand(error);
  }
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit(exitCode);
}
