// Gives each new version of a run to its inference engines. It is part of the trainer role, of which a run has one. Its actions depend only
// on the log and on the labels of the engines, so a second trainer, fenced or not, does the same. A version whose weights do not match
// their hash is not used, until they are repaired: the engines stay on the previous one. No failure here ends the trainer.
import type { PolicyPublished } from '../../../../schemas/generated/events.ts';
import { isPlatformError, messageOf } from '../../../../streams/core/errors.ts';
import type { Clock, EventReader, Following, LogBatch, LogReader, Logger, RunIndex } from '../../../../streams/core/ports.ts';
import type { Metrics } from '../../../../streams/core/telemetry.ts';
import { createBackoff, createWake } from '../../../../streams/core/waiting.ts';
import { policiesOf, readTail } from '../../../../producers/rollouts/worker/policy-tail.ts';
import type { Engine } from '../../../llm/engines/engine.ts';
import { keepEngine, type EngineStatus, type KeptEngine } from '../../../llm/engines/keep-engine.ts';
import type { WeightsReader } from '../../../web/weights-reader.ts';
import type { Notices } from '../notices.ts';
import { EngineTarget, type OfferedVersion } from './engine-target.ts';

export interface EngineUpdateOptions {
  readonly runId: string;
  readonly engines: readonly Engine[];
  readonly log: LogReader;
  readonly reader: EventReader;
  readonly index?: RunIndex;
  readonly check: WeightsReader['check'];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tell: Notices['tell'];
}

export interface EngineUpdates {
  /** Resolves when every engine serves the newest version of the log or has failed to, or after `ms`. */
  finish(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Formats that an engine cannot load in place of its weights. */
const NOT_OF_ENGINES: ReadonlySet<string> = new Set(['mlp-f32-v1', 'peft-lora']);
const LONG_MS = 60_000;
const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };

export function updateEngines(options: EngineUpdateOptions): EngineUpdates {
  return new EngineUpdatesOfRun(options);
}

class EngineUpdatesOfRun implements EngineUpdates {
  readonly #options: EngineUpdateOptions;
  readonly #target: EngineTarget;
  readonly #kept: readonly KeptEngine[];
  readonly #statuses = new Map<string, EngineStatus>();
  readonly #positions = new Map<number, number>();
  readonly #backoff = createBackoff(BACKOFF);
  readonly #stop = new AbortController();
  readonly #wake: ReturnType<typeof createWake>;
  readonly #changed: ReturnType<typeof createWake>;
  readonly #running: Promise<void>;
  #following: Following | undefined;
  readonly #told = new WeakMap<OfferedVersion, string>();
  /** The newest version that is not used, and why. */
  #refused = { version: -1, text: '' };

  constructor(options: EngineUpdateOptions) {
    this.#options = options;
    this.#target = new EngineTarget(options.runId);
    this.#wake = createWake(options.clock);
    this.#changed = createWake(options.clock);
    const { clock, logger, metrics, runId: run } = options;
    const onStatus = (status: EngineStatus): void => {
      this.#statuses.set(status.engine, status);
      this.#tell();
    };
    this.#kept = options.engines.map((engine) =>
      keepEngine({ engine, run, wanted: () => this.#target.wanted(), onStatus, clock, logger, metrics }),
    );
    this.#running = this.#run();
  }

  async finish(ms: number): Promise<void> {
    const { log, clock } = this.#options;
    const untilMs = clock.monotonic() + ms;
    const ends = await log.bounds('policies').catch(() => []);
    const isDone = (): boolean =>
      ends.every(({ partition, end }) => (this.#positions.get(partition) ?? -1) >= end) &&
      this.#target.next() === undefined &&
      (this.#target.wanted() === undefined || this.#options.engines.every(({ name }) => this.#isSettled(this.#statuses.get(name))));
    for (;;) {
      const leftMs = untilMs - clock.monotonic();
      if (isDone() || leftMs <= 0 || this.#stop.signal.aborted) return;
      await this.#changed.wait(leftMs);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake.now();
    this.#changed.now();
    await this.#running;
    await Promise.all(this.#kept.map((engine) => engine.close()));
  }

  #isSettled(status: EngineStatus | undefined): boolean {
    return status !== undefined && (status.version === this.#target.version() || status.error !== '');
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (this.#following === undefined) await this.#follow();
      const offered = this.#target.next();
      if (offered !== undefined) await this.#judge(offered);
      else {
        const again = this.#following === undefined || this.#target.isWaiting();
        this.#changed.now();
        await this.#wake.wait(again ? this.#backoff.next() : LONG_MS);
        this.#target.again();
      }
    }
    await this.#unfollow();
  }

  /** Reads the newest policies, then follows the topic. After an outage the caller tries again. */
  async #follow(): Promise<void> {
    const { log, logger } = this.#options;
    try {
      const ends = new Map((await log.bounds('policies')).map(({ partition, end }) => [partition, end]));
      await readTail(this.#options, ends, (events) => {
        this.#offer(events);
        return events.length > 0;
      });
      for (const [partition, end] of ends) this.#positions.set(partition, end);
      this.#following = await log.follow({
        topics: ['policies'],
        from: [...ends].map(([partition, offset]) => ({ topic: 'policies' as const, partition, offset })),
        otherwise: 'first',
        onBatch: (batch) => this.#onBatch(batch),
        onError: (error) => {
          logger.warn({ error: messageOf(error) }, 'policies cannot be followed; the engines wait');
          if (!isPlatformError(error) || !error.retriable) void this.#unfollow();
        },
      });
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'policies cannot be read; the engines wait');
    }
  }

  async #unfollow(): Promise<void> {
    const before = this.#following;
    this.#following = undefined;
    await before?.close();
  }

  async #onBatch(batch: LogBatch): Promise<void> {
    this.#offer(await policiesOf(batch, this.#options));
    this.#positions.set(batch.partition, batch.nextOffset);
    this.#changed.now();
  }

  #offer(events: readonly PolicyPublished[]): void {
    for (const event of events) this.#target.offer(event);
    if (events.length > 0) this.#wake.now();
  }

  async #judge(offered: OfferedVersion): Promise<void> {
    const { check, logger, runId: run } = this.#options;
    const { version, format, loadable } = offered;
    try {
      if (!loadable || format === 'engine-pushed') this.#target.leave(offered);
      else if (NOT_OF_ENGINES.has(format)) this.#refuse(offered, `the engines cannot load ${format} in place of their weights`);
      else {
        const { path, isChecked } = await check(offered, this.#stop.signal);
        if (!isChecked) logger.info({ run, version, uri: path }, 'weights are passed on unchecked: they cannot be read from here');
        this.#target.serve(offered, path);
      }
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#tellOnce(offered, error);
      // weights may be repaired in place, so they are checked again, less and less often
      this.#refuse(offered, messageOf(error), true);
      return;
    }
    if (this.#target.version() === version) this.#accept();
  }

  /** A version that is checked again and refused for the same reason is not reported again. */
  #tellOnce(offered: OfferedVersion, error: unknown): void {
    const { logger, metrics, runId: run } = this.#options;
    const text = messageOf(error);
    if (this.#told.get(offered) === text) return;
    this.#told.set(offered, text);
    const code = isPlatformError(error) ? error.code : 'WEIGHTS_MISMATCH';
    metrics.count('policy_refused_total', { code });
    logger.error({ run, version: offered.version, code, error: text }, 'the engines stay on the version before');
  }

  #accept(): void {
    this.#backoff.reset();
    if (this.#refused.version <= this.#target.version()) this.#refused = { version: -1, text: '' };
    for (const engine of this.#kept) engine.look();
    this.#tell();
  }

  #refuse(offered: OfferedVersion, reason: string, mayComeLater = false): void {
    const { version } = offered;
    if (version >= this.#refused.version) this.#refused = { version, text: `version ${version} is not used: ${reason}` };
    if (mayComeLater) this.#target.postpone(offered);
    else this.#target.refuse(offered);
    this.#tell();
  }

  /** Says which engines could not be updated, and why. */
  #tell(): void {
    const version = this.#target.version();
    const statuses = this.#target.wanted() === undefined ? [] : [...this.#statuses.values()];
    const failing = statuses.filter(({ error }) => error !== '');
    const texts = failing.map(({ engine, version: at, error }) => `${engine} is on version ${at} instead of ${version}: ${error}`);
    const behind = statuses.filter((status) => status.version !== version).length;
    const figures = { engines: this.#options.engines.length, engines_behind: behind, engines_version: version };
    this.#options.tell([this.#refused.text, ...texts].filter((text) => text !== '').join('; '), figures);
    this.#changed.now();
  }
}
