// A role as a child process, in its own process group so that Ctrl-C in a terminal reaches only the supervisor. The child stops by itself
// when this process vanishes: the IPC channel closes.
import { fork } from 'node:child_process';
import type { Exit, RunningProcess } from './service.ts';
import { parseFromRole, type FromRole, type HealthMessage, type MetricsMessage } from '../messages.ts';

/**
 * Size of V8's young generation, MiB. With it, fewer objects of a role that reads millions of records survive a collection, and the role is
 * 10 to 15 % faster than with Node's default of 16.
 * The full size is allocated from the start: V8 would otherwise add it at the first busy moment, which looks like a leak.
 */
const SEMI_SPACE_MIB = 32;

/**
 * Size that the store's old generation may reach before V8 collects it, MiB. V8's own limit is a multiple of the live objects, which are
 * few: the buffers of inserted rows would cause several full collections per second, which take a sixth of the store's CPU time.
 */
const STORE_OLD_SPACE_MIB = 128;

/**
 * Allocator settings of glibc for the buffers of the network, Avro and TensorFlow: few arenas, and large buffers through mmap, so that
 * their memory returns to the system. With glibc's defaults, a trainer at 2,000 turns/s grows by 5 % in half an hour.
 */
const MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };

export interface RoleChildOptions {
  /** Path of the program, infra/cli/turnstream.mjs. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** File descriptor for its log. */
  readonly log: number;
  readonly onMessage: (message: FromRole) => void;
}

export interface RoleChild extends RunningProcess {
  /** Forwards metrics or health of other roles; dropped when the child has exited. */
  pass(message: MetricsMessage | HealthMessage): void;
}

const flagsOf = (role: string | undefined): string[] => [
  `--min-semi-space-size=${SEMI_SPACE_MIB}`,
  `--max-semi-space-size=${SEMI_SPACE_MIB}`,
  ...(role === 'store' ? [`--initial-old-space-size=${STORE_OLD_SPACE_MIB}`] : []),
];

/** Starts it; resolves when the process exists. */
export function startRoleChild(options: RoleChildOptions): Promise<RoleChild> {
  const child = fork(options.program, options.args, {
    env: { ...MALLOC, ...options.env },
    execArgv: flagsOf(options.args[0]),
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
