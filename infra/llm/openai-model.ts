// A language model behind an OpenAI-compatible server, with chat or plain completions. Requests beyond the concurrency limit wait.
// Guarantees: `generate` never rejects; transient failures are retried with exponential backoff and jitter; the version of a token is what
// the server reports, and unknown otherwise. Only the newest version is kept between requests; a crash loses the running generations.
import type {
  Generation,
  GenerationFailure,
  GenerationOutcome,
  GenerationRequest,
  GenerationTiming,
  LanguageModel,
} from '../../streams/core/models.ts';
import type { Logger } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { pause } from '../lifecycle/waiting.ts';
import { createCallClock, type CallClock } from '../lifecycle/call-clock.ts';
import { Continuation } from './continued.ts';
import { createLimiter, type Limiter } from '../../streams/core/limiter.ts';
import type { LlmOptions } from './options.ts';
import { tryWithVersion } from './asked-version.ts';
import type { TryResult } from './try-once.ts';

export interface LlmParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Uniform in [0, 1): the jitter of a wait. */
  readonly random: () => number;
}

export interface ServedModel extends LanguageModel {
  /** Newest version that the server has reported, -1 = none. */
  newestVersion(): number;
  /** Ends every request. */
  close(): void;
}

/** The server rejected the request itself. */
const isRefusal = ({ errorType }: GenerationFailure): boolean => errorType === 'model_http_400' || errorType === 'model_http_422';

/** Upper limit of a wait that the server requests. */
const LONGEST_ASKED_MS = 10 * 60_000;

/** A model that is called over HTTP. Sends nothing yet. */
export function createServedModel(options: LlmOptions, parts: LlmParts): ServedModel {
  return new ModelOverHttp(options, parts);
}

class ModelOverHttp implements ServedModel {
  readonly takes: LanguageModel['takes'];
  readonly #options: LlmOptions;
  readonly #parts: LlmParts;
  readonly #limiter: Limiter;
  readonly #open = new Set<AbortController>();
  #newest = -1;
  #closed = false;
  #toldOfStops = false;
  #toldOfForeign = false;

  constructor(options: LlmOptions, parts: LlmParts) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, '') };
    this.#parts = parts;
    this.#limiter = createLimiter(options.concurrency);
    this.takes = options.api === 'chat' ? 'chat' : 'text';
  }

  newestVersion(): number {
    return this.#newest;
  }

  close(): void {
    this.#closed = true;
    for (const controller of this.#open) controller.abort();
  }

  async generate(request: GenerationRequest, signal: AbortSignal): Promise<GenerationOutcome> {
    const controller = new AbortController();
    const stop = (): void => {
      controller.abort();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted || this.#closed) stop();
    this.#open.add(controller);
    try {
      return await this.#generate(request, controller.signal);
    } finally {
      this.#open.delete(controller);
      signal.removeEventListener('abort', stop);
    }
  }

  async #generate(request: GenerationRequest, signal: AbortSignal): Promise<GenerationOutcome> {
    const clock = createCallClock();
    const continuation = new Continuation(request);
    for (let retry = 0; ; retry += 1) {
      const tried = await this.#tryOn(continuation, signal, clock);
      const { firstTokenMs } = tried;
      const timing = { ...clock.timing(), ...(firstTokenMs === undefined ? {} : { firstTokenMs }) };
      if (tried.ok) return this.#told({ ok: true, generation: tried.generation, timing });
      const { failure, afterMs } = tried;
      if (!this.#mayRetry(tried, retry, continuation)) {
        const tries = retry === 0 ? '' : ` (${retry + 1} tries)`;
        return this.#told({ ok: false, failure: { ...failure, message: `${failure.message}${tries}` }, timing });
      }
      const waitMs = this.#waitMs(retry, afterMs);
      this.#parts.logger.debug({ error: failure.message, waitMs, retry: retry + 1 }, 'the language model is asked again');
      await pause(waitMs, signal);
    }
  }

  #mayRetry({ again, failure }: Extract<TryResult, { ok: false }>, retry: number, continuation: Continuation): boolean {
    if (retry >= this.#options.retries) return false;
    return again || (isRefusal(failure) && continuation.anew());
  }

  /**
   * Continues a generation each time its server interrupts it: tokens generated so far are progress, and an interruption is not a failure.
   */
  async #tryOn(continuation: Continuation, signal: AbortSignal, clock: CallClock): Promise<TryResult> {
    for (;;) {
      const tried = await this.#tryInTurn(continuation.request, signal, clock);
      if (tried.ok) return { ...tried, generation: continuation.ended(tried.generation) };
      const next = this.#options.goOn === true ? continuation.interrupted(tried.partial) : 'no use';
      if (next === 'no use') return tried;
      if (next !== 'go on') return { ok: true, generation: next };
      clock.kept();
    }
  }

  /** Waits do not occupy a slot: other requests proceed. */
  async #tryInTurn(request: GenerationRequest, signal: AbortSignal, clock: CallClock): Promise<TryResult> {
    this.#gauge();
    const leave = await clock.queued(this.#limiter.enter(signal));
    this.#gauge();
    const began = performance.now();
    try {
      const tried = await tryWithVersion(request, this.#options, { signal, timed: (run) => clock.tried(run) });
      this.#note(tried, began);
      if (tried.ok) this.#tellOfStops(request, tried.generation);
      return tried;
    } finally {
      leave?.();
      this.#gauge();
    }
  }

  /** Timing of the whole generation, not just of the last request. */
  #told<T extends GenerationOutcome & { readonly timing: GenerationTiming }>(outcome: T): T {
    const { metrics } = this.#parts;
    const { queueMs, retries, retryMs, firstTokenMs } = outcome.timing;
    metrics.observe('llm_queue_seconds', {}, queueMs / 1_000);
    if (retries > 0) {
      metrics.count('llm_retries_total', {}, retries);
      metrics.observe('llm_retry_seconds', {}, retryMs / 1_000);
    }
    if (firstTokenMs !== undefined) metrics.observe('llm_first_token_seconds', {}, firstTokenMs / 1_000);
    return outcome;
  }

  /** Between half and all of an exponentially growing wait, and at least as long as the server requests. */
  #waitMs(retry: number, afterMs: number): number {
    const [first, longest] = this.#options.retryMs;
    const most = Math.min(longest, first * 2 ** retry);
    const random = this.#parts.random();
    return Math.max(most * (0.5 + random / 2), Math.min(afterMs, LONGEST_ASKED_MS) * (1 + random / 10));
  }

  #note(tried: TryResult, began: number): void {
    const { metrics } = this.#parts;
    const outcome = tried.ok ? 'ok' : tried.failure.errorType;
    metrics.count('llm_requests_total', { outcome });
    metrics.observe('llm_request_seconds', { outcome }, (performance.now() - began) / 1_000);
    if (tried.foreign === true) this.#tellOfForeign();
    const made = tried.ok ? tried.generation : tried.partial;
    if (made === undefined) return;
    const { promptTokens, completionTokens, spans } = made;
    metrics.count('llm_tokens_total', { kind: 'prompt' }, promptTokens);
    metrics.count('llm_tokens_total', { kind: 'completion' }, completionTokens);
    this.#newest = Math.max(this.#newest, ...spans.map(({ version }) => version));
  }

  /** A server that removes stop strings from the text without reporting them leaves every tool call without its closing tag. */
  #tellOfStops({ stop }: GenerationRequest, { finishReason, stopText }: Generation): void {
    if (this.#toldOfStops || finishReason !== 'stop' || stopText !== undefined || !stop.some((text) => text.startsWith('</'))) return;
    const { extra } = this.#options;
    if ('stop' in extra || extra['include_stop_str_in_output'] === true) return;
    this.#toldOfStops = true;
    this.#parts.logger.warn(
      { model: this.#options.model },
      'the server does not say which stop string ended an answer, so a call that it cut stays without its closing tag; set TURNSTREAM_LLM_EXTRA to {"stop": null} to let the model close its tags, or to {"include_stop_str_in_output": true} where the server knows that',
    );
  }

  #tellOfForeign(): void {
    const { metrics, logger } = this.#parts;
    metrics.count('llm_foreign_versions_total', {});
    if (this.#toldOfForeign) return;
    this.#toldOfForeign = true;
    const { run, model } = this.#options;
    logger.warn({ run, model }, 'the server answers with weights that are labeled for another run: the version of their tokens is unknown');
  }

  #gauge(): void {
    this.#parts.metrics.set('llm_running', { state: 'running' }, this.#limiter.running());
    this.#parts.metrics.set('llm_running', { state: 'waiting' }, this.#limiter.waiting());
  }
}
