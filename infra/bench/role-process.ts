// Runs a role as users do, for a bench: in its own process, with its log in a file, observed through its status channel.
import { openSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { startRoleChild } from '../app/fleet/role-child.ts';

interface RoleProcessOptions {
  /** Default: the program of turnstream. */
  readonly program?: string;
  readonly args: readonly string[];
  /** Settings by environment variable; settings of the shell are ignored. */
  readonly settings: Readonly<Record<string, string>>;
  /** The role's data directory, which also contains its log. */
  readonly dataDir: string;
}

export interface WatchedRole {
  readonly pid: number;
  newest(): RoleStatus | undefined;
  /** Resolves at the first report that matches; rejects when the role ends first, or after `limitMs`. */
  until(fits: (status: RoleStatus) => boolean, limitMs?: number): Promise<RoleStatus>;
  /** CPU time of all its threads so far, s. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

const LIMIT_MS = 120_000;
const LOOK_MS = 20;

/** Starts it; resolves when the process exists. */
export async function startRoleProcess({ program, args, settings, dataDir }: RoleProcessOptions): Promise<WatchedRole> {
  const name = args[0] ?? 'role';
  const logFile = join(dataDir, `${name}.log`);
  let newest: RoleStatus | undefined;
  let ended: string | undefined;
  const child = await startRoleChild({
    program: program ?? resolve('infra/cli/turnstream.mjs'),
    args,
    env: { ...withoutOurs(process.env), TURNSTREAM_DATA_DIR: dataDir, TURNSTREAM_LOG_LEVEL: 'warn', ...settings },
    log: openSync(logFile, 'a'),
    onMessage: (message) => {
      if (message.type === 'status') newest = message.status;
    },
  });
  void child.exited.then(({ code, signal }) => {
    const last = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-3).join('\n');
    ended = `${signal ?? `code ${String(code)}`}: ${last}`;
  });
  return {
    pid: child.pid,
    newest: () => newest,
    async until(fits, limitMs = LIMIT_MS) {
      const deadline = performance.now() + limitMs;
      while (newest === undefined || !fits(newest)) {
        if (ended !== undefined) throw new Error(`the ${name} ended with ${ended}`);
        if (performance.now() > deadline) throw new Error(`the ${name} is not there after ${limitMs} ms: ${JSON.stringify(newest)}`);
        await new Promise((done) => setTimeout(done, LOOK_MS));
      }
      return newest;
    },
    cpuSeconds: () => cpuSecondsOf(child.pid),
    stop: () => child.stop(),
  };
}

/** Linux reports CPU time in hundredths of a second; NaN elsewhere. */
function cpuSecondsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return NaN;
  }
}

/** The environment without turnstream's settings. */
export const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^(TURNSTREAM|KAFKA|CLICKHOUSE|SCHEMA_REGISTRY)_/.test(name)));
