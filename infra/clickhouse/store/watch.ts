// Calls of the engine that are not over. The engine has no way to stop a call from outside, and some of its functions look at no
// limit while they run: a call that outlives twice its limit is stuck. Time is counted in ticks, so that a process that was
// frozen, or a machine that slept, does not make every call look old.

/** What a call is about. */
export interface Asked {
  /** The statement, for the log. */
  readonly sql: string;
  /** Its max_execution_time; undefined when it has none and may take as long as it does. */
  readonly maxSeconds: number | undefined;
  /** Aborted when nobody waits for its answer any more; only for what may then be ended. */
  readonly left?: AbortSignal;
}

export interface Call {
  readonly asked: Asked;
  /** Ends the caller's wait with this error; the engine goes on. */
  giveUp(error: Error): void;
}

export interface Watch {
  /** Resolves or rejects with the work, or rejects with what `giveUp` was given. */
  run<T>(asked: Asked, work: Promise<T>): Promise<T>;
  /** Calls that are not over. */
  pending(): readonly Call[];
  /** One tick has passed. Answers a call that is stuck, when there is one. */
  tick(): Call | undefined;
  /** Resolves when nothing is pending. */
  idle(): Promise<void>;
}

export const TICK_MS = 500;
/** On top of twice the limit: a call also opens files and writes its answer. */
const GRACE_MS = 2_000;
/** A statement that nobody waits for, and that was asked to stop all the time, does not stop. */
const LEFT_MS = 60_000;

interface Pending extends Call {
  ticks: number;
  ticksLeft: number;
}

/** Nothing is pending yet. */
export function createWatch(tickMs = TICK_MS): Watch {
  const calls = new Set<Pending>();
  let idlers: (() => void)[] = [];
  const over = (call: Pending): void => {
    calls.delete(call);
    if (calls.size > 0) return;
    for (const tell of idlers) tell();
    idlers = [];
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
    idle: () => (calls.size === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
  };
}

const IN_TEXT = /\bmax_execution_time\s*=\s*'?(\d+(?:\.\d+)?)/gi;

/** The longest of the limits that a statement has; undefined when it has none. */
export function limitOf(settings: ReadonlyMap<string, string>, sql: string): number | undefined {
  const given = [settings.get('max_execution_time') ?? '', ...[...sql.matchAll(IN_TEXT)].map(([, value]) => value ?? '')];
  const limits = given.map(Number).filter((seconds) => Number.isFinite(seconds) && seconds > 0);
  return limits.length === 0 ? undefined : Math.max(...limits);
}
