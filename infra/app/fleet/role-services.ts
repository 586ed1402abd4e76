// Roles as supervised services: their arguments, and the meaning of their exit codes.
import { writeSync } from 'node:fs';
import { errorCodes, isErrorCode, isPlatformError, PlatformError } from '../../../streams/core/errors.ts';
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import { exitCodes } from '../exit-codes.ts';
import type { FailedMessage, FromRole, HealthMessage, MetricsMessage } from '../messages.ts';
import { startRoleChild, type RoleChild } from './role-child.ts';
import type { Exit, RunningProcess, Service, ExitVerdict } from './service.ts';

export interface RoleServiceOptions {
  readonly name: string;
  readonly tier: number;
  readonly program: string;
  readonly args: readonly string[];
  /** Called at each start: addresses may have changed. */
  readonly env: () => Readonly<Record<string, string | undefined>>;
  readonly log: number;
  /** What an exit with code 0 means. */
  readonly onSuccess: 'restart' | 'done';
  readonly onStatus: (status: RoleStatus) => void;
  readonly onMetrics: (message: MetricsMessage) => void;
  /**
   * A process that reports nothing for this many ticks is considered hung and is killed; ticks while the supervisor itself was suspended do
   * not count.
   */
  readonly silence?: { readonly tickMs: number; readonly ticks: number };
}

/** 90 s: a healthy role reports every few seconds. */
const SILENCE = { tickMs: 5_000, ticks: 18 };

export interface RoleService extends Service {
  /** Forwards messages of other roles to its process. */
  pass(message: MetricsMessage | HealthMessage): void;
  /** The error that its last process reported, if that error is final. */
  failure(): PlatformError | undefined;
  start(): Promise<RunningProcess>;
}

/** A role that runs as a child process. */
export function roleService(options: RoleServiceOptions): RoleService {
  let child: RoleChild | undefined;
  let failed: FailedMessage | undefined;
  let [starts, silentTicks] = [0, 0];
  function onMessage(message: FromRole): void {
    silentTicks = 0;
    if (message.type === 'status') options.onStatus(message.status);
    else if (message.type === 'metrics') options.onMetrics(message);
    else failed = message;
  }
  async function start(): Promise<RunningProcess> {
    failed = undefined;
    starts += 1;
    const { program, args, log } = options;
    const started = await startRoleChild({ program, args, log, env: options.env(), onMessage });
    child = started;
    watchSilence(started);
    return started;
  }
  function watchSilence(watched: RoleChild): void {
    const { tickMs, ticks } = options.silence ?? SILENCE;
    silentTicks = 0;
    const timer = setInterval(() => {
      silentTicks += 1;
      if (silentTicks < ticks) return;
      clearInterval(timer);
      const told = {
        level: 50,
        time: Date.now(),
        role: options.name,
        pid: watched.pid,
        msg: `silent for ${(ticks * tickMs) / 1_000} s: killed`,
      };
      try {
        writeSync(options.log, `${JSON.stringify(told)}\n`);
      } catch {
        // a full disk must not prevent the kill
      }
      watched.kill();
    }, tickMs).unref();
    void watched.exited.finally(() => {
      clearInterval(timer);
    });
  }
  const failure = (): PlatformError | undefined => finalFailure(options.name, failed);
  return {
    name: options.name,
    tier: options.tier,
    launch: start,
    start,
    failure,
    judge: (exit) => judge(exit, { onSuccess: options.onSuccess, failure: failure(), again: starts > 1 }),
    pass(message) {
      child?.pass(message);
    },
  };
}

function finalFailure(name: string, failed: FailedMessage | undefined): PlatformError | undefined {
  if (failed === undefined || !isErrorCode(failed.code) || errorCodes[failed.code].final !== true) return undefined;
  return new PlatformError(failed.code, `running role ${name}: ${failed.message}`);
}

interface ExitPolicy {
  readonly onSuccess: ExitVerdict & string;
  readonly failure: PlatformError | undefined;
  /** It was started before. */
  readonly again: boolean;
}

function judge(exit: Exit, { onSuccess, failure, again }: ExitPolicy): ExitVerdict {
  if (exit.code === exitCodes.ok) return onSuccess;
  // The previous process finished the run and was killed before it could report that.
  if (again && isPlatformError(failure, 'RUN_FINISHED')) return onSuccess;
  if (failure !== undefined) return { fatal: failure };
  return 'restart';
}
