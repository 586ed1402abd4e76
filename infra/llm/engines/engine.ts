// An inference engine that takes new weights from a path, in the words of vLLM or of SGLang. `load` stops the engine only once it is asked
// to, and lets it go on whatever happens; what an update that was killed in between left standing still, `resume` sets going.
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import { parseJson, textAt } from '../json.ts';

export interface WeightsToLoad {
  /** As the engine sees it: a path, or a URI that it knows how to read. */
  readonly path: string;
  readonly label: string;
}

export interface Engine {
  /** Kind and address, as configured. */
  readonly name: string;
  /** The label of the weights that it serves; empty when it has none. */
  label(signal: AbortSignal): Promise<string>;
  load(weights: WeightsToLoad, signal: AbortSignal): Promise<void>;
  resume(): Promise<void>;
}

export interface EngineOptions {
  readonly name: string;
  readonly url: string;
  /** Empty sends none. Never logged. */
  readonly apiKey: string;
  /** How long the engine may take to load weights. */
  readonly timeoutMs: number;
}

interface EngineCall {
  /** Without one, the call is a GET. */
  readonly body?: object;
  readonly signal?: AbortSignal;
  /** Default: that of a call which the engine answers at once. */
  readonly timeoutMs?: number;
}

/** Sends a request and returns the text of the answer. Throws ENGINE_UNAVAILABLE or ENGINE_REFUSED. */
type CallEngine = (path: string, call: EngineCall) => Promise<string>;

const QUICK_MS = 15_000;
const SHOWN_CHARS = 300;

export function callsTo({ name, url, apiKey }: EngineOptions): CallEngine {
  const headers = { 'content-type': 'application/json', ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }) };
  const safe = (text: string): string => (apiKey === '' ? text : text.replaceAll(apiKey, '(key)')).slice(0, SHOWN_CHARS);
  return async (path, { body, signal, timeoutMs = QUICK_MS }) => {
    const asking = `asking ${name} for ${path}`;
    const until = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(`${url}${path}`, {
        ...(body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) }),
        ...{ headers, redirect: 'error', signal: signal === undefined ? until : AbortSignal.any([until, signal]) },
      });
      const text = await response.text();
      if (response.ok) return text;
      throw new PlatformError('ENGINE_REFUSED', `${asking}: HTTP ${response.status}, ${safe(complaintIn(text))}`);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof PlatformError) throw cause;
      const inner = cause instanceof Error && cause.cause !== undefined ? `: ${messageOf(cause.cause)}` : '';
      throw new PlatformError('ENGINE_UNAVAILABLE', `${asking}: ${safe(`${messageOf(cause)}${inner}`)}`);
    }
  };
}

function complaintIn(body: string): string {
  const json = parseJson(body);
  return textAt(json, 'error', 'message') || textAt(json, 'message') || textAt(json, 'error') || textAt(json, 'detail') || body;
}

/** Lets the engine go on whatever happened to the update; its failure is the one that is told. */
export async function thenResume(update: () => Promise<void>, resume: () => Promise<void>): Promise<void> {
  try {
    await update();
  } catch (error) {
    await resume().catch(() => undefined);
    throw error;
  }
  await resume();
}
