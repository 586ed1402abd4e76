// The entry of a model in the model list of an OpenAI-compatible server, reduced to the fields that help to identify the weights. Fields
// that change with every call (vLLM sets `created` to the time of the call) or say nothing about the weights (prices) are left out.
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import { pause } from '../lifecycle/waiting.ts';
import { at, listAt, parseJson, textAt } from './json.ts';

export interface ModelEndpoint {
  /** Including the API version, e.g. http://127.0.0.1:8000/v1 */
  readonly url: string;
  readonly model: string;
  readonly apiKey: string;
}

export type ModelCard = Readonly<Record<string, unknown>>;

const FIELDS = ['id', 'root', 'parent', 'revision', 'version', 'weight_version', 'digest', 'sha256', 'max_model_len', 'meta'] as const;
const TIMEOUT_MS = 10_000;
const WAITS_MS = [500, 1_500] as const;

/**
 * Empty when the list does not contain the model, or when the server responds with any HTTP error except 401. Throws MODEL_UNAVAILABLE when
 * the server cannot be reached or does not respond in time, and MODEL_REFUSED when it responds with 401.
 */
export async function modelCard(place: ModelEndpoint, signal: AbortSignal): Promise<ModelCard> {
  const response = await get(place, signal);
  if (response.status === 401) {
    throw new PlatformError('MODEL_REFUSED', `asking ${safeUrl(place.url)} for its models: HTTP 401, the API key was refused`);
  }
  if (!response.ok) return {};
  const listed = listAt(parseJson(response.text), 'data').find((one) => textAt(one, 'id') === place.model);
  return Object.fromEntries(FIELDS.flatMap((name) => (at(listed, name) == null ? [] : [[name, at(listed, name)]])));
}

interface ModelCardResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly text: string;
}

async function get({ url, apiKey }: ModelEndpoint, signal: AbortSignal): Promise<ModelCardResponse> {
  for (let tried = 0; ; tried += 1) {
    try {
      const response = await fetch(`${url.replace(/\/+$/, '')}/models`, {
        headers: apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` },
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        redirect: 'error',
      });
      const { ok, status } = response;
      if (status < 500 || tried >= WAITS_MS.length) return { ok, status, text: await response.text() };
    } catch (cause) {
      signal.throwIfAborted();
      if (tried >= WAITS_MS.length) throw unavailable(url, cause);
    }
    await pause(WAITS_MS[tried] ?? 0, signal);
  }
}

function unavailable(url: string, cause: unknown): PlatformError {
  const inner = cause instanceof Error && cause.cause !== undefined ? `: ${messageOf(cause.cause)}` : '';
  const said = `${messageOf(cause)}${inner}`.replaceAll(url, safeUrl(url));
  return new PlatformError('MODEL_UNAVAILABLE', `asking ${safeUrl(url)} for its models: ${said}`);
}

/** An address without its user, password and query, which may contain secrets. */
export function safeUrl(address: string): string {
  try {
    const { protocol, host, pathname } = new URL(address);
    return `${protocol}//${host}${pathname.replace(/\/+$/, '')}`;
  } catch {
    return '';
  }
}
