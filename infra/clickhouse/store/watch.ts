// Tracks running calls of the engine. The engine can only be asked to stop a call, and some functions ignore that and their limits while
// they run: a call that takes longer than twice its limit is stuck. Time is counted in ticks, so that calls do not look old after the
// process was frozen or the machine slept.
import { deferred } from '../../../streams/core/waiting.ts';

/** The statement of a call and its limits. */
export interface WatchedStatement {
  /** The statement, for the log. */
  readonly sql: string;
  /** Its max_execution_time; undefined when it has no limit. */
  readonly maxSeconds: number | undefined;
  /** Aborts when the result is no longer needed; only for calls that may then be ended. */
  readonly left?: AbortSignal;
}

export interface WatchedCall {
  readonly asked: WatchedStatement;
  /** Ends the caller's wait with this error; the engine continues. */
  giveUp(error: Error): void;
}

export interface CallWatch {
  /** Settles like the work, or rejects with the error passed to `giveUp`. */
  run<T>(asked: WatchedStatement, work: Promise<T>): Promise<T>;
  /** Running calls. */
  pending(): readonly WatchedCall[];
  /** Counts one tick. Returns a stuck call, if there is one. */
  tick(): WatchedCall | undefined;
  /** Resolves when no call is running. */
  idle(): Promise<void>;
}

export const TICK_MS = 500;
/** In addition to twice the limit: a call also opens files and writes its result. */
const GRACE_MS = 2_000;
/** An abandoned statement that has not stopped after this time, despite repeated requests, is stuck, ms. */
const LEFT_MS = 60_000;

interface Pending extends WatchedCall {
  ticks: number;
  ticksLeft: number;
}

/** Starts with no running calls. */
export function createWatch(tickMs = TICK_MS): CallWatch {
  const calls = new Set<Pending>();
  let idle = deferred();
  const over = (call: Pending): void => {
    calls.delete(call);
    if (calls.size > 0) return;
    idle.resolve();
    idle = deferred();
  };
  const isStuck = ({ asked: { maxSeconds }, ticks, ticksLeft }: Pending): boolean =>
    ticksLeft * tickMs > LEFT_MS || (maxSeconds !== undefined && ticks * tickMs > 2_000 * maxSeconds + GRACE_MS);
  return {
    run(asked, work) {
      return new Promise((resolve, reject) => {
        const call: Pending = { asked, giveUp: reject, ticks: 0, ticksLeft: 0 };
        calls.add(call);
        void work.then(resolve, reject).finally(() => {
          over(call);
        });
      });
    },
    pending: () => [...calls],
    tick() {
      for (const call of calls) {
        call.ticks += 1;
        if (call.asked.left?.aborted === true) call.ticksLeft += 1;
      }
      return [...calls].find(isStuck);
    },
    idle: () => (calls.size === 0 ? Promise.resolve() : idle.promise),
  };
}

const IN_TEXT = /\bmax_execution_time\s*=\s*'?(\d+(?:\.\d+)?)/gi;

/** The largest limit of a statement; undefined when it has none. */
export function limitOf(settings: ReadonlyMap<string, string>, sql: string): number | undefined {
  const given = [settings.get('max_execution_time') ?? '', ...[...sql.matchAll(IN_TEXT)].map(([, value]) => value ?? '')];
  const limits = given.map(Number).filter((seconds) => Number.isFinite(seconds) && seconds > 0);
  return limits.length === 0 ? undefined : Math.max(...limits);
}
