// Identifies a process by its pid and its start time, because pids are reused.
import { readFileSync } from 'node:fs';

/** True when a process with this pid exists, owned by any user. */
export function processAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** A text that distinguishes processes with the same pid; empty where the system provides none. */
export function startMarkOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** True when the process with this pid and mark is still running. */
export const sameProcessAlive = (pid: number, mark: string): boolean => processAlive(pid) && (mark === '' || startMarkOf(pid) === mark);
