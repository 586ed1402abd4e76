// An inference engine that loads new weights from a path, over the HTTP API of vLLM or SGLang. `load` pauses the engine during the update
// and resumes it in any case. `resume` restarts an engine that was left paused because a process died during an update.
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import { parseJson, textAt } from '../json.ts';

export interface WeightsToLoad {
  /** As the engine sees it: a path, or a URI that it can read. */
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

export interface EngineTerms {
  readonly name: string;
  readonly url: string;
  /** If empty, none is sent. Never logged. */
  readonly apiKey: string;
  /** How long the engine may take to load weights. */
  readonly timeoutMs: number;
}

interface RouteCall {
  /** The call is a GET without one, else a POST. */
  readonly body?: object;
  readonly signal?: AbortSignal;
  /** Default: enough for a call that responds at once. */
  readonly timeoutMs?: number;
}

/** Sends a request and returns the body of the response. Throws ENGINE_UNAVAILABLE or ENGINE_REFUSED. */
type CallEngine = (path: string, call: RouteCall) => Promise<string>;

const QUICK_MS = 15_000;
const SHOWN_CHARS = 300;

export function callsTo({ name, url, apiKey }: EngineTerms): CallEngine {
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

/** Resumes the engine whether or not the update succeeded. Rejects with the error of the update. */
export async function thenResume(update: () => Promise<void>, resume: () => Promise<void>): Promise<void> {
  try {
    await update();
  } catch (error) {
    await resume().catch(() => undefined);
    throw error;
  }
  await resume();
}
