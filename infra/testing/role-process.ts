// Runs a role as users do: as a program in its own process, observed through its status channel. It ends with the test.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { startRoleChild } from '../app/fleet/role-child.ts';
import type { Exit } from '../app/fleet/service.ts';
import { cleanEnv, program } from './up.ts';

export interface RoleProcess {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** All output so far. */
  output(): string;
  statuses(): readonly RoleStatus[];
  /** Resolves with the first report, past or future, that matches; rejects when the process ends first. */
  until(fits: (status: RoleStatus) => boolean): Promise<RoleStatus>;
  signal(name: NodeJS.Signals): void;
}

/** `env` contains all settings that the role sees; `args` are the arguments of the command. */
export async function startRole(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<RoleProcess> {
  const dir = mkdtempSync(join(tmpdir(), 'turnstream-role-'));
  const file = join(dir, 'log');
  const log = openSync(file, 'a');
  const statuses: RoleStatus[] = [];
  const waiting = new Set<() => void>();
  let ended = false;
  const look = (): void => {
    for (const one of waiting) one();
  };
  const child = await startRoleChild({
    ...{ program, args, log },
    env: cleanEnv(env),
    onMessage: (message) => {
      if (message.type === 'status') statuses.push(message.status);
      look();
    },
  });
  closeSync(log);
  let all: string | undefined;
  const output = (): string => all ?? readFileSync(file, 'utf8');
  const exited = child.exited.then((exit) => {
    all = output();
    rmSync(dir, { recursive: true, force: true });
    ended = true;
    look();
    return exit;
  });
  return {
    pid: child.pid,
    exited,
    output,
    statuses: () => statuses,
    until: (fits) =>
      new Promise((resolve, reject) => {
        const one = (): void => {
          const found = statuses.find(fits);
          if (found === undefined && !ended) return;
          waiting.delete(one);
          if (found !== undefined) resolve(found);
          else reject(new Error(`${args.join(' ')} ended before what was waited for:\n${output().slice(-2_000)}`));
        };
        waiting.add(one);
        one();
      }),
    signal: (name) => process.kill(child.pid, name),
  };
}
