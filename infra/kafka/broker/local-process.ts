// Processes by id, told apart from strangers that got the same id later: by their start time and command line.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { inheritedEnv } from '../../lifecycle/inherited-env.ts';

const run = promisify(execFile);

export interface Identity {
  readonly pid: number;
  /** When the process started, in whatever unit the system tells; compared for equality only. */
  readonly startedAt: string;
}

/** Start time and command line of a living process; undefined when there is none, or only its zombie. */
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

/** True when the process that was recorded still lives. */
export async function isAlive(identity: Identity): Promise<boolean> {
  return (await describeProcess(identity.pid))?.startedAt === identity.startedAt;
}

/** This process, as others can recognise it later. */
export async function ownIdentity(): Promise<Identity> {
  return { pid: process.pid, startedAt: (await describeProcess(process.pid))?.startedAt ?? '' };
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it is gone already
  }
}

/** Resolves when the process has gone. Polls: it need not be our child. */
export async function waitForExit(identity: Identity, timeoutMs = Number.POSITIVE_INFINITY): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (await isAlive(identity)) {
    if (performance.now() >= deadline) return false;
    await delay(50);
  }
  return true;
}

/** SIGTERM, then SIGKILL when it has not gone in time. */
export async function endProcess(identity: Identity, graceMs: number): Promise<void> {
  if (!(await isAlive(identity))) return;
  signalProcess(identity.pid, 'SIGTERM');
  if (await waitForExit(identity, graceMs)) return;
  signalProcess(identity.pid, 'SIGKILL');
  await waitForExit(identity, graceMs);
}

/** Starts a process in its own group, so that Ctrl-C in the terminal does not reach it; what it prints goes to `outputFile`. */
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
