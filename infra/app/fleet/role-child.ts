// A role as a child process, in a process group of its own so that Ctrl-C in a terminal reaches the supervisor only. The
// child stops by itself when this process vanishes: the IPC channel closes.
import { fork } from 'node:child_process';
import type { Exit, Running } from './service.ts';
import { parseFromRole, type FromRole, type HealthMessage, type MetricsMessage } from '../messages.ts';

/**
 * Room for young objects, MiB: a role that reads millions of records survives fewer collections; 10 to 15 % faster than Node's own 16.
 * It has all of it from the start: by itself V8 would add it at the first busy moment, and a role would look as if it grew.
 */
const SEMI_SPACE_MIB = 32;

/**
 * How glibc keeps the buffers of the network, of Avro and of TensorFlow: in few arenas, and the large ones apart, so that they go back to
 * the system. With glibc's own choice a trainer at 2,000 turns/s grows by 5 % in half an hour.
 */
const MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };

export interface RoleChildOptions {
  /** Path of the program, infra/cli/turnstream.mjs. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** File descriptor that takes its log. */
  readonly log: number;
  readonly onMessage: (message: FromRole) => void;
}

export interface RoleChild extends Running {
  /** Sends what others said; lost when the child has gone. */
  pass(message: MetricsMessage | HealthMessage): void;
}

/** Starts it; resolves when the process exists. */
export function startRoleChild(options: RoleChildOptions): Promise<RoleChild> {
  const child = fork(options.program, options.args, {
    env: { ...MALLOC, ...options.env },
    execArgv: [`--min-semi-space-size=${SEMI_SPACE_MIB}`, `--max-semi-space-size=${SEMI_SPACE_MIB}`],
    detached: true,
    stdio: ['ignore', options.log, options.log, 'ipc'],
    serialization: 'json',
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve({ code, signal });
    });
  });
  child.on('message', (message) => {
    const parsed = parseFromRole(message);
    if (parsed !== undefined) options.onMessage(parsed);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      child.off('error', reject);
      child.on('error', () => undefined);
      resolve({
        pid: child.pid ?? 0,
        exited,
        async stop() {
          child.kill('SIGTERM');
          await exited;
        },
        kill() {
          child.kill('SIGKILL');
        },
        pass(message) {
          if (child.connected) child.send(message, () => undefined);
        },
      });
    });
  });
}
