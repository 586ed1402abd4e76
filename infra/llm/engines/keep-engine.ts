// Keeps one engine on the version that it should serve, with one update at a time. A failed update is retried with backoff, always with the
// newest version. The label that the engine reports decides, not what was sent to it: an engine that was restarted, or updated by somebody
// else, gets the version again. After a crash between pause and resume, the next start resumes the engine first.
import { messageOf } from '../../../streams/core/errors.ts';
import type { Clock, Logger } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import { createBackoff, createWake } from '../../../streams/core/waiting.ts';
import { versionOf } from '../weight-versions.ts';
import type { Engine, WeightsToLoad } from './engine.ts';

export interface EngineStatus {
  readonly engine: string;
  /** Version that the engine serves; -1 = the engine does not respond, or serves no version of the run. */
  readonly version: number;
  /** Error of the last attempt; empty if it succeeded. */
  readonly error: string;
}

export interface KeepOptions {
  readonly engine: Engine;
  readonly run: string;
  /** What the engine should serve; undefined = leave the engine alone. */
  readonly wanted: () => WeightsToLoad | undefined;
  readonly onStatus: (status: EngineStatus) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface KeptEngine {
  /** To be called when the result of `wanted` has changed. */
  look(): void;
  /** Aborts a running update; resolves once the engine has been resumed. */
  close(): Promise<void>;
}

const LOOK_MS = 5_000;
const BACKOFF = { firstMs: 500, maxMs: 30_000 };

export function keepEngine(options: KeepOptions): KeptEngine {
  const stop = new AbortController();
  const wake = createWake(options.clock);
  const done = new EngineLoop(options, stop.signal).run((ms) => wake.wait(ms));
  return {
    look: () => {
      wake.now();
    },
    async close() {
      stop.abort();
      wake.now();
      await done;
    },
  };
}

class EngineLoop {
  readonly #options: KeepOptions;
  readonly #signal: AbortSignal;
  readonly #backoff = createBackoff(BACKOFF);
  /** An earlier process or a failed call may have left the engine paused. */
  #mayBePaused = true;
  #lastError = '';

  constructor(options: KeepOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async run(wait: (ms: number) => Promise<void>): Promise<void> {
    while (!this.#signal.aborted) {
      const wanted = this.#options.wanted();
      await wait(wanted === undefined ? LOOK_MS : await this.#look(wanted));
    }
  }

  /** Returns the delay until the next check, ms. Never rejects. */
  async #look(wanted: WeightsToLoad): Promise<number> {
    try {
      await this.#serve(wanted);
      this.#tell(wanted.label, '');
      this.#backoff.reset();
      return LOOK_MS;
    } catch (error) {
      if (this.#signal.aborted) return 0;
      const { engine } = this.#options;
      const label = await engine.label(this.#signal).catch(() => '');
      this.#tell(label, messageOf(error));
      return this.#backoff.next();
    }
  }

  async #serve(wanted: WeightsToLoad): Promise<void> {
    const { engine } = this.#options;
    if (this.#mayBePaused) await engine.resume();
    this.#mayBePaused = false;
    if ((await engine.label(this.#signal)) !== wanted.label) await this.#update(wanted);
  }

  async #update(wanted: WeightsToLoad): Promise<void> {
    const { engine, clock, logger, metrics } = this.#options;
    const begunMs = clock.monotonic();
    this.#mayBePaused = true;
    try {
      await engine.load(wanted, this.#signal);
      this.#mayBePaused = false;
      const seconds = (clock.monotonic() - begunMs) / 1_000;
      metrics.count('engine_updates_total', { engine: engine.name, outcome: 'updated' });
      metrics.observe('engine_update_seconds', { engine: engine.name }, seconds);
      logger.info({ engine: engine.name, label: wanted.label, seconds }, 'an engine has loaded new weights');
    } catch (error) {
      metrics.count('engine_updates_total', { engine: engine.name, outcome: 'failed' });
      throw error;
    }
  }

  #tell(label: string, error: string): void {
    const { engine, run, logger, metrics, onStatus } = this.#options;
    const version = label.startsWith(`${run}/`) ? versionOf(label, run) : -1;
    metrics.set('engine_policy_version', { engine: engine.name }, version);
    if (error !== '' && error !== this.#lastError)
      logger.warn({ engine: engine.name, version, error }, 'an engine could not be updated; trying again');
    this.#lastError = error;
    onStatus({ engine: engine.name, version, error });
  }
}
