import { pino } from 'pino';
import type { Logger } from '../../streams/core/ports.ts';
import { logLinesTo, type LogLines } from './log-lines.ts';
import { terminalJson } from './terminal-text.ts';

/** Writes JSON lines to standard error, so that standard output has only the result of the command. */
export function createLogger(options: { readonly level: string; readonly role: string }): Logger {
  return pino(
    {
      level: options.level,
      base: { role: options.role, pid: process.pid },
      redact: {
        paths: ['password', '*.password', 'authorization', '*.authorization', 'headers.authorization', 'key', '*.apiKeys'],
        censor: '(hidden)',
      },
    },
    standardError(),
  );
}

let lines: LogLines | undefined;

/** Shared by all loggers of the process, so that it is flushed once. */
function standardError(): LogLines {
  if (lines !== undefined) return lines;
  const made = process.stderr.isTTY ? forTerminal(logLinesTo(2)) : logLinesTo(2);
  process.on('exit', () => {
    made.flushSync();
  });
  return (lines = made);
}

const forTerminal = (made: LogLines): LogLines => ({
  ...made,
  write(line) {
    made.write(terminalJson(line));
  },
});
