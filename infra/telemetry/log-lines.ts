// Where log lines go: a file descriptor, in order, without waiting. A descriptor that takes nothing (a full disk, a reader that
// is gone) must not end the process or fill its memory: lines are dropped then, and counted when it takes some again.
import { write, writeSync } from 'node:fs';

/** Bytes that may wait. */
const MAX_WAITING = 4 * 1024 * 1024;
const AGAIN_MS = 100;

type Write = typeof write;

/** What pino writes to. */
export interface LogLines {
  write(line: string): void;
  /** Writes what waits, at the end of the process; what cannot be written is lost. */
  flushSync(): void;
}

/** Lines to a descriptor. `writeTo` is for tests. */
export function logLinesTo(fd: number, writeTo: Pick<{ write: Write }, 'write'> = { write }): LogLines {
  let waiting: string[] = [];
  let [bytes, dropped, told, lines] = [0, 0, 0, 0];
  let writing: Buffer = Buffer.alloc(0);

  function next(): void {
    if (writing.length === 0) {
      if (waiting.length === 0) return;
      const note = dropped === 0 ? '' : `${JSON.stringify({ level: 40, time: Date.now(), dropped, msg: 'log lines were dropped' })}\n`;
      writing = Buffer.from(note + waiting.join(''));
      [lines, told, waiting, bytes] = [waiting.length, dropped, [], 0];
    }
    writeTo.write(fd, writing, (error, written) => {
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
      const rest = Buffer.concat([writing, Buffer.from(waiting.join(''))]);
      [waiting, writing] = [[], Buffer.alloc(0)];
      try {
        if (rest.length > 0) writeSync(fd, rest);
      } catch {
        // there is nobody left to tell
      }
    },
  };
}
