// Writes log lines to a file descriptor, in order and without blocking. A descriptor that accepts nothing (a full disk, a closed pipe) must
// not end the process or fill its memory: lines are then dropped, and counted when writes succeed again.
import { write, writeSync } from 'node:fs';

/** Maximum characters in the buffer. */
const MAX_WAITING = 4 * 1024 * 1024;
const AGAIN_MS = 100;

type Write = typeof write;

/** The destination of pino. */
export interface LogLines {
  write(line: string): void;
  /** Writes the buffered lines at the end of the process; lines that cannot be written are lost. */
  flushSync(): void;
}

/** Writes lines to a descriptor. Tests replace `writeTo`. */
export function logLinesTo(fd: number, writeTo: Pick<{ write: Write }, 'write'> = { write }): LogLines {
  let waiting: string[] = [];
  let [bytes, dropped, told, lines] = [0, 0, 0, 0];
  let writing: Buffer = Buffer.alloc(0);
  let inFlight = false;

  function next(): void {
    if (writing.length === 0) {
      if (waiting.length === 0) return;
      const note = dropped === 0 ? '' : `${JSON.stringify({ level: 40, time: Date.now(), dropped, msg: 'log lines were dropped' })}\n`;
      writing = Buffer.from(note + waiting.join(''));
      [lines, told, waiting, bytes] = [waiting.length, dropped, [], 0];
    }
    inFlight = true;
    writeTo.write(fd, writing, (error, written) => {
      inFlight = false;
      if (error?.code === 'EAGAIN') {
        setTimeout(next, AGAIN_MS).unref();
        return;
      }
      dropped += error === null ? -told : lines;
      told = 0;
      writing = error === null ? writing.subarray(written) : Buffer.alloc(0);
      next();
    });
  }

  return {
    write(line) {
      if (bytes + line.length > MAX_WAITING) {
        dropped += 1;
        return;
      }
      waiting.push(line);
      bytes += line.length;
      if (writing.length === 0) next();
    },
    flushSync() {
      // Node completes a write in flight before it exits
      const rest = Buffer.concat([inFlight ? Buffer.alloc(0) : writing, Buffer.from(waiting.join(''))]);
      [waiting, writing] = [[], Buffer.alloc(0)];
      try {
        if (rest.length > 0) writeSync(fd, rest);
      } catch {
        // there is nowhere left to report this
      }
    },
  };
}
