// Kills or freezes this process at a named crash point, for tests that set TURNSTREAM_CRASH_AT.
import { writeSync } from 'node:fs';
import { crashPoints, reachNothing, type CrashPoint, type ReachPoint } from '../../streams/core/crash-points.ts';

const STDERR = 2;
const FREEZE = ':freeze';
const place = `(${crashPoints.map((point) => point.replaceAll('.', '\\.')).join('|')})(:[1-9]\\d{0,6})?`;

/**
 * `<point>[:<n>]` is the n-th time that a point is reached; default: the first. Several points separated by commas must be reached in
 * order, and the last one triggers. A trailing `:freeze` stops the process instead of killing it.
 */
export const crashAtPattern = new RegExp(`^${place}(,${place})*(${FREEZE})?$`);

/** Does nothing for ''; otherwise sends SIGKILL or SIGSTOP to this process with all its threads. */
export function reachFor(crashAt: string, strike: (how: NodeJS.Signals, point: CrashPoint) => void = strikeSelf): ReachPoint {
  if (crashAt === '') return reachNothing;
  const freezes = crashAt.endsWith(FREEZE);
  const path = freezes ? crashAt.slice(0, -FREEZE.length) : crashAt;
  const ahead = path.split(',').map((part) => {
    const [point, nth = '1'] = part.split(':');
    return { point, left: Number(nth) };
  });
  return (reached) => {
    const [next] = ahead;
    if (next?.point !== reached) return;
    next.left -= 1;
    if (next.left > 0) return;
    ahead.shift();
    if (ahead.length === 0) strike(freezes ? 'SIGSTOP' : 'SIGKILL', reached);
  };
}

/** The line is written before the signal, so that a test knows that the crash point caused the exit. */
function strikeSelf(how: NodeJS.Signals, point: CrashPoint): void {
  writeSync(STDERR, `crash point ${point}: ${how}\n`);
  process.kill(process.pid, how);
}
