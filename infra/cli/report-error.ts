// Reports the failure of a command: one message on standard error, and an exit code that classifies it.
import { CommanderError } from 'commander';
import { isPlatformError, messageOf } from '../../streams/core/errors.ts';
import { exitCodeOf, exitCodes } from '../app/exit-codes.ts';

/** The text for standard error; `verbose` adds the stack of every error in the chain of causes. */
export function describeError(error: unknown, verbose: boolean): string {
  const code = isPlatformError(error) ? ` [${error.code}]` : '';
  const causes = causesOf(error);
  const text = `turnstream: ${messageOf(error)}${code}\n`;
  if (verbose) return text + causes.map((one) => `${one instanceof Error ? (one.stack ?? one.message) : String(one)}\n`).join('');
  return isPlatformError(error) ? text : `${text}  This error is unexpected. TURNSTREAM_LOG_LEVEL=debug shows its stack.\n`;
}

function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let one: unknown = error; one !== undefined && chain.length < 10; one = one instanceof Error ? one.cause : undefined)
    chain.push(one);
  return chain;
}

/** Commander has already printed its message; --help and --version are not errors. */
export function exitCodeForCommand(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  return exitCodeOf(error);
}
