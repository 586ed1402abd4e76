import type { Logger } from '../../streams/core/ports.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { createServedModel } from './openai-model.ts';
import type { LlmOptions } from './options.ts';

const PROBE = { prompt: [{ from: 'user', text: 'Say yes.' }], stop: [], maxTokens: 16, decoding: { kind: 'greedy' } } as const;
const LONGEST_MS = 60_000;
const DOWN = /^model_(unreachable|timeout|http_5)/;

/**
 * The version that a server reports for the weights behind a short answer, -1 when it reports none. Throws MODEL_UNAVAILABLE when the
 * server does not answer, MODEL_REFUSED when it rejects every request.
 */
export async function servedVersion(
  options: LlmOptions,
  { signal, ...parts }: { readonly logger: Logger; readonly metrics: Metrics; readonly signal: AbortSignal },
): Promise<number> {
  const { timeoutMs, idleMs, extra, retries } = options;
  const patience = { retries: Math.min(retries, 2), timeoutMs: Math.min(timeoutMs, LONGEST_MS), idleMs: Math.min(idleMs, LONGEST_MS) };
  const model = createServedModel({ ...options, ...patience, extra: { ...extra, stop: null } }, { ...parts, random: Math.random });
  try {
    const outcome = await model.generate(PROBE, signal);
    signal.throwIfAborted();
    if (outcome.ok) return Math.max(-1, ...outcome.generation.spans.map(({ version }) => version));
    const { fatal, errorType, message } = outcome.failure;
    if (fatal) throw new PlatformError('MODEL_REFUSED', message);
    if (DOWN.test(errorType)) throw new PlatformError('MODEL_UNAVAILABLE', message);
    return -1;
  } finally {
    model.close();
  }
}
