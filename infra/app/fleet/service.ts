// A service that the supervisor keeps running, and the sequence of its processes.
import { isPlatformError, messageOf } from '../../../streams/core/errors.ts';
import { createBackoff, type Backoff } from '../../../streams/core/waiting.ts';
import { isDiskFull } from '../../lifecycle/disk-full.ts';
import { pause, settledWithin } from '../../lifecycle/waiting.ts';

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** One running process of a service. */
export interface RunningProcess {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Asks the process to end and resolves when it has. */
  stop(): Promise<void>;
  kill(): void;
}

export type ExitVerdict = 'restart' | 'done' | { readonly fatal: Error };

export interface Service {
  readonly name: string;
  /** Services stop from the highest tier to the lowest; services of one tier stop together. */
  readonly tier: number;
  /** Starts a process and resolves when it is ready. A failure of the first launch, or one that a retry cannot fix, ends everything. */
  launch(signal: AbortSignal): Promise<RunningProcess>;
  /** Classifies an unexpected exit. */
  judge(exit: Exit): ExitVerdict;
}

export interface SupervisorEvent {
  readonly kind: 'started' | 'exited' | 'restarting' | 'stopped' | 'killed';
  readonly service: string;
  readonly pid: number | undefined;
  readonly detail: string;
}

export interface LivesOptions {
  readonly onEvent: (event: SupervisorEvent) => void;
  /** How long a stop may take before the process is killed, ms. */
  readonly stopMs: number;
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
}

/** Whether a retry can succeed. */
const mayPass = (error: unknown): boolean => (isPlatformError(error) ? error.retriable : isDiskFull(error));

/** Restarts a service until it is done, stopped or cannot be started. At most one process exists at a time. */
export class ServiceLives {
  readonly #service: Service;
  readonly #options: LivesOptions;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  #running: RunningProcess | undefined;
  #killed = false;
  #wasStarted = false;
  #restarts = 0;

  constructor(service: Service, options: LivesOptions) {
    this.#service = service;
    this.#options = options;
    this.#backoff = createBackoff(options.backoff ?? { firstMs: 200, maxMs: 5_000 });
  }

  get pid(): number | undefined {
    return this.#running?.pid;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Resets the backoff. */
  healthy(): void {
    this.#backoff.reset();
  }

  /** Resolves when there will be no further process; rejects with the error that prevents one. */
  async run(onStarted: () => void): Promise<void> {
    await Promise.resolve();
    if (this.#isStopping()) return;
    for (;;) {
      try {
        if (!(await this.#live(onStarted))) return;
      } catch (error) {
        if (this.#isStopping()) return;
        if (!this.#wasStarted || !mayPass(error)) throw error;
        this.#tell('exited', messageOf(error));
      }
      const wait = this.#backoff.next();
      this.#tell('restarting', `in ${wait} ms`);
      await pause(wait, this.#stopping.signal);
      if (this.#isStopping()) return;
      this.#restarts += 1;
    }
  }

  /** Kills the current process; another one follows. */
  bounce(): void {
    this.#running?.kill();
  }

  /** Ends the current process; no other follows. `ended` is the promise of run. */
  async stop(ended: Promise<void>): Promise<void> {
    this.#stopping.abort();
    const last = this.#running;
    if (last !== undefined) await this.#endWithin(last);
    await ended;
    this.#running = undefined;
    if (last !== undefined) this.#tell('stopped', '', last.pid);
  }

  kill(): void {
    this.#killed = true;
    this.#stopping.abort();
    this.#running?.kill();
  }

  /** Runs one process; returns whether to start another. */
  async #live(onStarted: () => void): Promise<boolean> {
    const launched = await this.#service.launch(this.#stopping.signal);
    if (this.#isStopping()) {
      await this.#endLate(launched);
      onStarted();
      return false;
    }
    this.#running = launched;
    this.#wasStarted = true;
    this.#tell('started');
    onStarted();
    const exit = await launched.exited;
    if (this.#isStopping()) return false;
    // before the report: its receiver lists the processes that are left
    this.#running = undefined;
    this.#tell('exited', exit.signal ?? `code ${String(exit.code)}`, launched.pid);
    const verdict = this.#service.judge(exit);
    if (verdict === 'restart' || verdict === 'done') return verdict === 'restart';
    throw verdict.fatal;
  }

  /** The stop was requested during the start. */
  async #endLate(launched: RunningProcess): Promise<void> {
    if (this.#killed) launched.kill();
    else await this.#endWithin(launched);
  }

  async #endWithin(launched: RunningProcess): Promise<void> {
    const stop = launched.stop();
    if (await settledWithin(this.#options.stopMs, stop)) return stop;
    launched.kill();
    this.#tell('killed', `did not stop within ${this.#options.stopMs} ms`, launched.pid);
    await launched.exited;
  }

  #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  #tell(kind: SupervisorEvent['kind'], detail = '', pid = this.#running?.pid): void {
    this.#options.onEvent({ kind, service: this.#service.name, pid, detail });
  }
}
