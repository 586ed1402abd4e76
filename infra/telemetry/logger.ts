import { pino } from 'pino';
import type { Logger } from '../../streams/core/ports.ts';
import { logLinesTo, type LogLines } from './log-lines.ts';

/** JSON lines on standard error, so that standard output belongs to the command's result. */
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

/** One for all loggers of the process, so that it is flushed once. */
function standardError(): LogLines {
  if (lines !== undefined) return lines;
  const made = logLinesTo(2);
  process.on('exit', () => {
    made.flushSync();
  });
  return (lines = made);
}
