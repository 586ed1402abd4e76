// The command line of a program in this folder: --help, and one clear message about invalid flags.
import { messageOf } from '../../streams/core/errors.ts';

/** The result of `parse`. Ends the process after --help (0), and when `parse` throws (2). */
export function flagsOr<T>(help: string, parse: () => T): T {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${help}\n`);
    process.exit(0);
  }
  try {
    return parse();
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n\n${help}\n`);
    process.exit(2);
  }
}
