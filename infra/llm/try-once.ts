// One request to the server and its answer. Whatever comes back is a generation or a failure; nothing is thrown.
// The key is only in the request: it is removed from the messages of failures, which may quote the server.
import { CONTEXT_FULL, type Generation, type GenerationFailure, type GenerationRequest } from '../../streams/core/models.ts';
import { messageOf } from '../../streams/core/errors.ts';
import { buildAnswer, type AnswerBuilder } from './answer.ts';
import { eventData, textOf, TooLong } from './event-stream.ts';
import { at, parseJson, textAt } from './json.ts';
import type { LlmOptions } from './options.ts';
import { requestBody, samplingOf } from './request.ts';

/** How one try went. */
export type TryResult = {
  /** From sending to the first token; undefined when the answer was not streamed. */ readonly firstTokenMs?: number;
  /** Weights of another run generated a part of it. */
  readonly foreign?: true;
} & (
  | { readonly ok: true; readonly generation: Generation }
  | {
      readonly ok: false;
      readonly failure: GenerationFailure;
      readonly again: boolean;
      /** The wait that the server requests, ms. */
      readonly afterMs: number;
      /** What was generated before the server interrupted it. */
      readonly partial?: Generation;
    }
);

type Failed = Extract<TryResult, { readonly ok: false }>;

const MAX_ANSWER_BYTES = 64 * 2 ** 20;
const MAX_ERROR_BYTES = 2 ** 16;
const SHOWN_CHARS = 300;
const FATAL = new Set([401, 403, 404]);
const AGAIN = new Set([408, 409, 425, 429]);
const TOO_LONG_PROMPT =
  /context[ _](length|window)|maximum (context|model|input) length|max_model_len|(prompt|input) is too long|longer than the model/i;

/** Ends a request when its caller aborts it, or when it takes too long. */
interface RequestWatch {
  readonly signal: AbortSignal;
  /** Restarts the idle timer, because data arrived. */
  touch(): void;
  ended(): 'aborted' | 'timeout' | undefined;
  close(): void;
}

function watch(caller: AbortSignal, { timeoutMs, idleMs }: LlmOptions): RequestWatch {
  const controller = new AbortController();
  let ended: 'aborted' | 'timeout' | undefined;
  const end = (why: 'aborted' | 'timeout'): void => {
    ended ??= why;
    controller.abort();
  };
  const onAbort = (): void => {
    end('aborted');
  };
  const onTime = (): void => {
    end('timeout');
  };
  const whole = setTimeout(onTime, timeoutMs);
  let idle = setTimeout(onTime, idleMs);
  caller.addEventListener('abort', onAbort, { once: true });
  if (caller.aborted) onAbort();
  return {
    signal: controller.signal,
    touch() {
      clearTimeout(idle);
      idle = setTimeout(onTime, idleMs);
    },
    ended: () => ended,
    close() {
      clearTimeout(whole);
      clearTimeout(idle);
      caller.removeEventListener('abort', onAbort);
    },
  };
}

interface Failing {
  readonly status?: GenerationFailure['status'];
  readonly again: boolean;
  readonly fatal?: boolean;
  readonly afterMs?: number;
}

/** Without the key, and short. */
const safe = (text: string, key: string): string =>
  (key === '' ? text : text.replaceAll(key, '(key)')).replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARS);

function failed(options: LlmOptions, errorType: string, found: Failing & { readonly what: string }): Failed {
  const { status = 'error', again, fatal = false, afterMs = 0, what } = found;
  const message = `asking ${options.model} at ${options.url}: ${safe(what, options.apiKey)}`;
  return { ok: false, failure: { status, errorType, message, fatal }, again, afterMs };
}

/** What a Retry-After header asks for, ms; 0 without one. */
export function retryAfterMs(header: string | null, nowMs: number): number {
  if (header === null) return 0;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - nowMs;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

async function* touched(body: AsyncIterable<Uint8Array>, watching: RequestWatch): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    watching.touch();
    yield chunk;
  }
}

async function wholeText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  let text = '';
  for await (const piece of textOf(body, maxBytes)) text += piece;
  return text;
}

/** The message in the body of a refusal, in whichever field it is. */
function complaintIn(body: string): string {
  const json = parseJson(body);
  return textAt(json, 'error', 'message') || textAt(json, 'message') || textAt(json, 'error') || textAt(json, 'detail') || body;
}

async function refused(response: Response, options: LlmOptions): Promise<TryResult> {
  const body = await wholeText(response.body ?? noBody(), MAX_ERROR_BYTES).catch(() => '');
  const said = complaintIn(body);
  const { status } = response;
  const what = `HTTP ${status}${said === '' ? '' : `, "${said}"`}`;
  if (status >= 400 && status < 500 && TOO_LONG_PROMPT.test(said)) return failed(options, CONTEXT_FULL, { what, again: false });
  const afterMs = retryAfterMs(response.headers.get('retry-after'), Date.now());
  const again = status >= 500 || AGAIN.has(status);
  return failed(options, `model_http_${status}`, { what, again, afterMs, fatal: FATAL.has(status) });
}

async function* noBody(): AsyncGenerator<Uint8Array> {
  // nothing to give
}

async function readStream(texts: AsyncIterable<string>, answer: AnswerBuilder, onToken: () => void): Promise<string> {
  for await (const data of eventData(texts)) {
    if (data === '[DONE]') return '';
    const chunk = parseJson(data);
    if (typeof chunk !== 'object' || chunk === null) return `an event that is not JSON: ${data}`;
    if (answer.add(chunk)) onToken();
    if (answer.error() !== '') return '';
  }
  return '';
}

async function readWhole(texts: AsyncIterable<string>, answer: AnswerBuilder): Promise<string> {
  let text = '';
  for await (const piece of texts) text += piece;
  const json = parseJson(text);
  if (at(json, 'choices', 0) === undefined && at(json, 'error') === undefined) return `a response that is not an answer: ${text}`;
  answer.add(json);
  return '';
}

/** Reads the answer, streamed or not, whichever the server chose to send. */
async function read(
  response: Response,
  options: LlmOptions,
  parts: {
    readonly request: GenerationRequest;
    readonly watching: RequestWatch;
    readonly sentMs: number;
    readonly onFirst: (() => void) | undefined;
  },
): Promise<TryResult> {
  let firstTokenMs: number | undefined;
  const onToken = (): void => {
    if (firstTokenMs === undefined) parts.onFirst?.();
    firstTokenMs ??= performance.now() - parts.sentMs;
  };
  const promptChars = parts.request.prompt.reduce((sum, { text }) => sum + text.length, 0);
  const source = { ...options, sampling: samplingOf(parts.request, options) };
  const answer = buildAnswer({ promptChars, versionFrom: options.versionFrom, run: options.run, source });
  answer.begin(response.headers);
  const texts = textOf(touched(response.body ?? noBody(), parts.watching), MAX_ANSWER_BYTES);
  const streamed = (response.headers.get('content-type') ?? '').includes('text/event-stream');
  const garbage = await (streamed ? readStream(texts, answer, onToken) : readWhole(texts, answer));
  if (garbage !== '') return failed(options, 'model_garbage', { what: garbage, again: true });
  if (answer.error() !== '') return failed(options, 'model_error', { what: `the generation failed, "${answer.error()}"`, again: true });
  const generation = answer.finish();
  if (generation === undefined) return failed(options, 'model_cut', { what: 'the answer broke off', again: true });
  const beside = { ...(answer.foreign() ? { foreign: true as const } : {}), ...(firstTokenMs === undefined ? {} : { firstTokenMs }) };
  if (generation.finishReason === 'abort') {
    const interrupted = failed(options, 'model_interrupted', { what: 'the server interrupted the generation', again: true });
    return { ...interrupted, ...beside, partial: generation };
  }
  return { ok: true, generation, ...beside };
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : '';
  return `${messageOf(error)}${cause}`;
}

/** One try. `onFirst` is called at the first token of a streamed answer. */
export async function tryOnce(
  request: GenerationRequest,
  options: LlmOptions,
  { signal, onFirst }: { readonly signal: AbortSignal; readonly onFirst?: () => void },
): Promise<TryResult> {
  const watching = watch(signal, options);
  const body = requestBody(request, options);
  const sentMs = performance.now();
  let begun = false;
  try {
    const response = await fetch(`${options.url}/${options.api === 'chat' ? 'chat/completions' : 'completions'}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': String(body.bytes),
        accept: 'text/event-stream, application/json',
        ...(options.apiKey === '' ? {} : { authorization: `Bearer ${options.apiKey}` }),
      },
      body: body.chunks,
      duplex: 'half',
      signal: watching.signal,
      redirect: 'error',
    });
    watching.touch();
    begun = true;
    return await (response.ok ? read(response, options, { request, watching, sentMs, onFirst }) : refused(response, options));
  } catch (error) {
    const ended = watching.ended();
    if (ended === 'aborted') return failed(options, 'model_aborted', { what: 'the request was stopped', status: 'timeout', again: false });
    if (ended === 'timeout') return failed(options, 'model_timeout', { what: 'no answer in time', status: 'timeout', again: true });
    if (error instanceof TooLong) return failed(options, 'model_garbage', { what: error.message, again: false });
    return failed(options, begun ? 'model_cut' : 'model_unreachable', { what: causeOf(error), again: true });
  } finally {
    watching.close();
  }
}
