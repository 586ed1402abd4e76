// Identifies processes by id, start time and command line, so that a later process with the same id is not mistaken for the old one.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { inheritedEnv } from '../../lifecycle/inherited-env.ts';
import { pause } from '../../lifecycle/waiting.ts';

const run = promisify(execFile);

export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in a system-specific unit; only compared for equality. */
  readonly startedAt: string;
}

/** Start time and command line of a running process; undefined when there is none, or only a zombie. */
export async function describeProcess(pid: number): Promise<{ readonly startedAt: string; readonly command: string } | undefined> {
  return process.platform === 'linux' ? describeByProc(pid) : describeByPs(pid);
}

async function describeByProc(pid: number): Promise<{ startedAt: string; command: string } | undefined> {
  try {
    const [stat, command] = await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile(`/proc/${pid}/cmdline`, 'utf8')]);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, startedAt] = [fields[0], fields[19]];
    return state === 'Z' || state === 'X' || startedAt === undefined ? undefined : { startedAt, command: command.replaceAll('\0', ' ') };
  } catch {
    return undefined;
  }
}

async function describeByPs(pid: number): Promise<{ startedAt: string; command: string } | undefined> {
  try {
    const { stdout } = await run('ps', ['-ww', '-o', 'lstart=', '-o', 'command=', '-p', String(pid)]);
    const line = stdout.trim();
    return line === '' ? undefined : { startedAt: line.slice(0, 24), command: line.slice(24).trim() };
  } catch {
    return undefined;
  }
}

/** True when the recorded process is still running. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await describeProcess(identity.pid))?.startedAt === identity.startedAt;
}

/** The identity of this process, for others to check later. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, startedAt: (await describeProcess(process.pid))?.startedAt ?? '' };
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has already exited
  }
}

/** Resolves to true when the process has exited, or false after `timeoutMs`. Polls, because it may not be a child of this process. */
export async function waitForExit(identity: ProcessIdentity, timeoutMs = Number.POSITIVE_INFINITY): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (await isAlive(identity)) {
    if (performance.now() >= deadline) return false;
    await pause(50);
  }
  return true;
}

/** Sends SIGTERM, then SIGKILL if the process does not exit in time. */
export async function endProcess(identity: ProcessIdentity, graceMs: number): Promise<void> {
  if (!(await isAlive(identity))) return;
  signalProcess(identity.pid, 'SIGTERM');
  if (await waitForExit(identity, graceMs)) return;
  signalProcess(identity.pid, 'SIGKILL');
  await waitForExit(identity, graceMs);
}

/** Starts a process in its own group, so that Ctrl-C in the terminal does not reach it; its output goes to `outputFile`. */
export function spawnDetached(command: string, args: readonly string[], options: { outputFile: string; cwd: string }): ChildProcess {
  const output = openSync(options.outputFile, 'a');
  try {
    return spawn(command, args, {
      cwd: options.cwd,
      env: inheritedEnv('java'),
      detached: true,
      stdio: ['ignore', output, output],
    });
  } finally {
    closeSync(output);
  }
}
