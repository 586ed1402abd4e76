// Requests to a JSON or text service that the operator configured, with a timeout, retries, and a limit on the response size. The address
// of the service is not checked, because the operator chose it. API keys appear only in headers.
import { request, type Dispatcher } from 'undici';
import { messageOf } from '../../streams/core/errors.ts';
import { pause } from '../lifecycle/waiting.ts';
import type { CallClock } from '../lifecycle/call-clock.ts';

export interface AskOptions {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly maxBytes: number;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly dispatcher?: Dispatcher;
  /** Records the time of each attempt. */
  readonly clock: CallClock;
}

export type TextResponse =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly status: 'error' | 'timeout'; readonly errorType: string; readonly message: string };

type TriedResponse = TextResponse & { readonly again?: boolean };

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;

async function readText(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > maxBytes) return undefined;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function refused(statusCode: number): TriedResponse {
  const again = statusCode >= 500 || statusCode === 429 || statusCode === 408;
  return { ok: false, status: 'error', errorType: `http_${statusCode}`, message: `the service answered ${statusCode}`, again };
}

async function once(url: string, options: AskOptions): Promise<TriedResponse> {
  const { method, headers, body, timeoutMs, maxBytes, dispatcher } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const response = await request(url, {
      method,
      headers,
      signal,
      ...(body === undefined ? {} : { body }),
      ...(dispatcher === undefined ? {} : { dispatcher }),
    });
    const text = await readText(response.body, maxBytes);
    const { statusCode } = response;
    if (statusCode < 200 || statusCode >= 300) return refused(statusCode);
    if (text === undefined) return { ok: false, status: 'error', errorType: 'too_large', message: 'the answer is too large' };
    return { ok: true, text };
  } catch (error) {
    if (options.signal.aborted) return { ok: false, status: 'timeout', errorType: 'aborted', message: 'the call was stopped' };
    if (signal.aborted)
      return { ok: false, status: 'timeout', errorType: 'timeout', message: 'the service did not answer in time', again: true };
    return { ok: false, status: 'error', errorType: 'connection_failed', message: messageOf(error).slice(0, 300), again: true };
  }
}

/** Sends the request; retries transient failures with exponential backoff. Never rejects. */
export async function ask(url: string, options: AskOptions): Promise<TextResponse> {
  for (let retry = 0; ; retry += 1) {
    const tried = await options.clock.tried(() => once(url, options));
    if (tried.ok || tried.again !== true || retry >= options.retries) return tried;
    await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** retry) * (0.5 + options.random() / 2), options.signal);
    if (options.signal.aborted) return tried;
  }
}
