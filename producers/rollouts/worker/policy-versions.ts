// The policy versions of a run, as known to a worker: follows `policies` from its tail, verifies the weights and loads them into the tensor
// backend. Guarantees: `newest` never goes back and never names a version whose weights are not verified and loaded; a version with invalid
// weights is logged and ignored. It keeps the newest few versions, version 0, and a few recently used older ones; a version that is dropped
// while decisions use it lives until they end. Crash: nothing is stored outside the log; a start reads the tail again.
import { createHash } from 'node:crypto';
import type { PolicyPublished } from '../../../schemas/generated/events.ts';
import type { Architecture, Scorer, ScorerFactory } from '../../../streams/core/learning.ts';
import { isPlatformError, messageOf, PlatformError, type ErrorCode } from '../../../streams/core/errors.ts';
import type { EventReader, Following, LogBatch, LogReader, Logger, RunIndex } from '../../../streams/core/ports.ts';
import { holdScorer, type HeldScorer } from './held-scorer.ts';
import { policiesOf, readTail, type EndOffsets } from './policy-tail.ts';

export interface PolicyVersionsOptions {
  readonly runId: string;
  readonly log: LogReader;
  readonly reader: EventReader;
  /** Where runs begin. */
  readonly index?: RunIndex;
  readonly factory: ScorerFactory;
  /** Fetches weights that are not inline. */
  readonly fetchWeights: (uri: string) => Promise<Buffer>;
  readonly logger: Logger;
  /** How many of the newest versions to keep. */
  readonly keepNewest?: number;
  /** How many older versions to keep after they were requested. */
  readonly keepPinned?: number;
  /** How long to wait for a version that is not published yet, ms. */
  readonly patienceMs?: number;
  /** Called with each version that becomes the newest. */
  readonly onNewest?: (version: number) => void;
  /** Called with each version that is ignored, because its weights cannot be read or are not those that were published. */
  readonly onRefused?: (version: number, error: { readonly code: ErrorCode; readonly message: string }) => void;
  /** Called when the topic can no longer be followed for a reason other than an outage. */
  readonly onFailure: (error: unknown) => void;
}

export interface FollowedPolicyVersions {
  /** Resolves once version 0 or a later one is known; waits as long as none is published. */
  start(signal: AbortSignal): Promise<void>;
  /** Newest known version; -1 if there is none yet. */
  newest(): number;
  /** A version, -1 = the newest. Reads the topic for an older version, and waits for one that is about to be published. */
  scorer(version: number): Promise<{ readonly version: number; readonly scorer: Scorer }>;
  close(): Promise<void>;
}

const defaults = { keepNewest: 4, keepPinned: 4, patienceMs: 60_000 };

export function createPolicyVersions(options: PolicyVersionsOptions): FollowedPolicyVersions {
  return new PolicyVersionsOfRun(options);
}

class PolicyVersionsOfRun implements FollowedPolicyVersions {
  readonly #options: PolicyVersionsOptions & typeof defaults;
  readonly #followed = new Map<number, HeldScorer>();
  /** Ordered by last use. */
  readonly #pinned = new Map<number, HeldScorer>();
  readonly #loading = new Map<number, Promise<HeldScorer>>();
  readonly #waiting = new Set<() => void>();
  #newest = -1;
  #following: Following | undefined;
  #closed = false;

  constructor(options: PolicyVersionsOptions) {
    this.#options = { ...defaults, ...options };
  }

  async start(signal: AbortSignal): Promise<void> {
    const ends = await this.#ends();
    const candidates: PolicyPublished[] = [];
    await readTail(this.#options, ends, (events) => {
      candidates.push(...events);
      return candidates.length > 0;
    });
    // The newest is enough; if its weights are invalid, the previous one is tried.
    for (const event of candidates.sort((a, b) => b.version - a.version)) {
      if (this.#newest < 0) await this.#accept(event);
    }
    this.#following = await this.#options.log.follow({
      topics: ['policies'],
      from: [...ends].map(([partition, offset]) => ({ topic: 'policies' as const, partition, offset })),
      otherwise: 'first',
      onBatch: (batch) => this.#onBatch(batch),
      onError: (error) => {
        if (isPlatformError(error) && error.retriable)
          this.#options.logger.warn({ error: messageOf(error) }, 'policies cannot be followed; waiting');
        else this.#options.onFailure(error);
      },
    });
    if (this.#newest < 0) this.#options.logger.info({ run: this.#options.runId }, 'waiting for the first policy version');
    await this.#until(() => this.#newest >= 0, { signal });
  }

  newest(): number {
    return this.#newest;
  }

  async scorer(version: number): Promise<{ readonly version: number; readonly scorer: Scorer }> {
    const wanted = version < 0 ? this.#newest : version;
    if (wanted < 0) throw new PlatformError('NOT_FOUND', `taking a policy of run ${this.#options.runId}: none is published yet`);
    const held = this.#followed.get(wanted) ?? this.#repin(wanted) ?? (await this.#load(wanted));
    return { version: wanted, scorer: held.scorer };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    await this.#following?.close();
    for (const held of [...this.#followed.values(), ...this.#pinned.values()]) held.retire();
    this.#followed.clear();
    this.#pinned.clear();
  }

  async #ends(): Promise<EndOffsets> {
    return new Map((await this.#options.log.bounds('policies')).map(({ partition, end }) => [partition, end]));
  }

  async #onBatch(batch: LogBatch): Promise<void> {
    for (const event of await policiesOf(batch, this.#options)) await this.#accept(event);
  }

  /** Makes a newer version the newest if its weights are valid. */
  async #accept(event: PolicyPublished): Promise<void> {
    if (event.version <= this.#newest || this.#closed) return;
    const held = await this.#hold(event);
    if (held === undefined) return;
    this.#followed.set(event.version, held);
    this.#newest = event.version;
    this.#options.onNewest?.(event.version);
    for (const [version, old] of this.#followed) {
      if (version > this.#newest - this.#options.keepNewest || version === 0) continue;
      this.#followed.delete(version);
      old.retire();
    }
    this.#wake();
  }

  /** Undefined, with an error in the application log, when the weights cannot be loaded or do not match the event. */
  async #hold(event: PolicyPublished): Promise<HeldScorer | undefined> {
    const { factory, logger, runId } = this.#options;
    try {
      const bytes = await this.#weightsOf(event);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      if (sha256 !== event.sha256) {
        throw new PlatformError('WEIGHTS_MISMATCH', `loading policy version ${event.version} of run ${runId}: sha256 ${sha256}, published as ${event.sha256}`); // prettier-ignore
      }
      const architecture = JSON.parse(event.architecture) as Architecture;
      return holdScorer(factory, { version: event.version, architecture, bytes });
    } catch (error) {
      const { version } = event;
      const [code, message] = [isPlatformError(error) ? error.code : ('WEIGHTS_MISMATCH' as const), messageOf(error)];
      logger.error({ run: runId, version, code, error: message }, 'ignoring a policy version');
      this.#options.onRefused?.(version, { code, message });
      return undefined;
    }
  }

  async #weightsOf(event: PolicyPublished): Promise<Buffer> {
    // Copied, because the event is in a fetch buffer that it would otherwise keep in memory.
    if (event.weights.length > 0 || event.uri === '') return Buffer.from(event.weights);
    return this.#options.fetchWeights(event.uri);
  }

  #repin(version: number): HeldScorer | undefined {
    const held = this.#pinned.get(version);
    if (held === undefined) return undefined;
    this.#pinned.delete(version);
    this.#pinned.set(version, held);
    return held;
  }

  /** Loads a version that is not cached; concurrent callers share one read. */
  #load(version: number): Promise<HeldScorer> {
    const known = this.#loading.get(version);
    if (known !== undefined) return known;
    const loading = this.#find(version).finally(() => this.#loading.delete(version));
    this.#loading.set(version, loading);
    return loading;
  }

  async #find(version: number): Promise<HeldScorer> {
    await this.#until(() => this.#newest >= version, { timeoutMs: this.#options.patienceMs });
    const followed = this.#followed.get(version);
    if (followed !== undefined) return followed;
    let held: HeldScorer | undefined;
    let found: readonly PolicyPublished[] = [];
    await readTail(this.#options, await this.#ends(), (events) => {
      found = events.filter((event) => event.version === version);
      return found.length > 0 || events.some((event) => event.version < version);
    });
    for (const event of found) held ??= await this.#hold(event);
    if (held === undefined) {
      throw new PlatformError(
        'NOT_FOUND',
        `taking policy version ${version} of run ${this.#options.runId}: it is not in the log, or unusable`,
      );
    }
    this.#pin(version, held);
    return held;
  }

  #pin(version: number, held: HeldScorer): void {
    this.#pinned.set(version, held);
    const droppable = [...this.#pinned].filter(([other]) => other !== 0);
    for (const [other, old] of droppable.slice(0, Math.max(0, droppable.length - this.#options.keepPinned))) {
      this.#pinned.delete(other);
      old.retire();
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves when the condition holds, the time is over or this object is closed; rejects when `signal` aborts. */
  #until(holds: () => boolean, limit: { readonly signal?: AbortSignal; readonly timeoutMs?: number }): Promise<void> {
    limit.signal?.throwIfAborted();
    if (holds() || this.#closed) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = limit.timeoutMs === undefined ? undefined : setTimeout(() => { check(true); }, limit.timeoutMs); // prettier-ignore
      const check = (over = false): void => {
        const aborted = limit.signal?.aborted === true;
        if (!holds() && !this.#closed && !over && !aborted) return;
        clearTimeout(timer);
        this.#waiting.delete(check);
        limit.signal?.removeEventListener('abort', onAbort);
        if (aborted) reject(limit.signal.reason as Error);
        else resolve();
      };
      const onAbort = (): void => { check(); }; // prettier-ignore
      this.#waiting.add(check);
      limit.signal?.addEventListener('abort', onAbort);
    });
  }
}
