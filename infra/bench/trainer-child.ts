// Runs a real `turnstream trainer` in its own process, observed through its status channel.
import { openSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { startRoleChild, type RoleChild } from '../app/fleet/role-child.ts';

export interface TrainerChildOptions {
  readonly brokers: readonly string[];
  readonly dataDir: string;
  readonly namespace: string;
  readonly run: string;
  readonly dataset: string;
  /** Settings by environment variable. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface WatchedTrainer {
  readonly pid: number;
  /** When it was started, by performance.now(). */
  readonly beganMs: number;
  /** When each state was first reported, ms after the start. */
  readonly states: ReadonlyMap<string, number>;
  newest(): RoleStatus | undefined;
  /** Receives every later report. */
  watch(hear: (status: RoleStatus) => void): void;
  /** Resolves at the first report that matches, with ms after the start; rejects when the trainer ends first, or after `limitMs`. */
  until(what: string, fits: (status: RoleStatus) => boolean, limitMs: number): Promise<number>;
  use(): ProcessUse;
  stop(): Promise<void>;
}

/** Resident memory in bytes and CPU time in ms; NaN where the system does not report them. */
export interface ProcessUse {
  readonly resident: number;
  readonly peak: number;
  readonly cpuMs: number;
}

interface StatusWaiter {
  readonly fits: (status: RoleStatus) => boolean;
  readonly resolve: (afterMs: number) => void;
  readonly reject: (error: Error) => void;
}

/** Starts it; its log goes to a file in the data directory. */
export async function startTrainer(options: TrainerChildOptions): Promise<WatchedTrainer> {
  const { dataDir, run } = options;
  const logFile = join(dataDir, `${run}.log`);
  const beganMs = performance.now();
  const states = new Map<string, number>();
  const waiters = new Set<StatusWaiter>();
  const watchers: ((status: RoleStatus) => void)[] = [];
  let newest: RoleStatus | undefined;
  let failure: string | undefined;

  const heard = (status: RoleStatus): void => {
    const after = performance.now() - beganMs;
    newest = status;
    if (!states.has(status.state)) states.set(status.state, after);
    for (const waiter of waiters) if (waiter.fits(status)) waiter.resolve(after);
    for (const hear of watchers) hear(status);
  };
  const child: RoleChild = await startRoleChild({
    program: resolve('infra/cli/turnstream.mjs'),
    args: ['trainer', '--run', run, '--dataset', options.dataset],
    env: {
      ...withoutOurs(process.env),
      KAFKA_BROKERS: options.brokers.join(','),
      TURNSTREAM_DATA_DIR: dataDir,
      TURNSTREAM_NAMESPACE: options.namespace,
      // synthetic answers teach nothing, which would end the run after three steps
      TURNSTREAM_MAX_DISCARDED: '1',
      ...options.settings,
    },
    log: openSync(logFile, 'a'),
    onMessage: (message) => {
      if (message.type === 'status') heard(message.status);
      if (message.type === 'failed') failure = `${message.message} [${message.code}]`;
    },
  });
  void child.exited.then(({ code, signal }) => {
    const last = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-3).join('\n');
    const error = new Error(`the trainer ended with ${signal ?? `code ${String(code)}`}: ${failure ?? last}`);
    for (const waiter of waiters) waiter.reject(error);
  });
  return {
    pid: child.pid,
    beganMs,
    states,
    newest: () => newest,
    watch: (hear) => void watchers.push(hear),
    until: (what, fits, limitMs) =>
      new Promise((fulfil, reject) => {
        if (newest !== undefined && fits(newest)) {
          fulfil(performance.now() - beganMs);
          return;
        }
        const end = (): void => {
          clearTimeout(timer);
          waiters.delete(waiter);
        };
        const waiter: StatusWaiter = {
          fits,
          resolve: (after) => {
            end();
            fulfil(after);
          },
          reject: (error) => {
            end();
            reject(error);
          },
        };
        const timer = setTimeout(() => {
          waiter.reject(new Error(`${what} did not happen within ${limitMs / 1_000} s; the newest report is ${JSON.stringify(newest)}`));
        }, limitMs);
        waiters.add(waiter);
      }),
    use: () => useOf(child.pid),
    stop: () => child.stop(),
  };
}

/** Linux reports CPU time in hundredths of a second. */
const MS_PER_TICK = 10;

/** Resource usage of a process on Linux: current and peak resident memory, CPU time of all its threads. */
function useOf(pid: number): ProcessUse {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? NaN) * 1_024;
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const cpuMs = (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
    return { resident: bytes('VmRSS'), peak: bytes('VmHWM'), cpuMs };
  } catch {
    return { resident: NaN, peak: NaN, cpuMs: NaN };
  }
}

/** Settings of the shell must not influence a bench. */
const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TURNSTREAM_') && !name.startsWith('KAFKA_')));
