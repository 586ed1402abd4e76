// Fetches one page over HTTP with limits on redirects, decompressed bytes, total time and content types. The result is a page or a failure;
// it never throws, and nothing continues in the background after it resolves.
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Readable, Transform } from 'node:stream';
import { request, type Dispatcher } from 'undici';
import { messageOf } from '../../streams/core/errors.ts';

export interface PageLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly maxRedirects: number;
}

export interface FetchedPage {
  readonly ok: true;
  /** The URL after redirects. */
  readonly url: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  /** The page exceeds the size limit; the rest was not read. */
  readonly cut: boolean;
}

export interface FetchFailure {
  readonly ok: false;
  readonly status: 'error' | 'timeout' | 'refused';
  /** private_address, too_many_redirects, unsupported_type, http_404, dns, … */
  readonly errorType: string;
  readonly message: string;
  /** True when a retry may succeed. */
  readonly again: boolean;
}

const MAX_URL_CHARS = 4_096;
const TEXT_TYPES = /^(?:text\/(?:html|plain|markdown|xml|csv)|application\/(?:xhtml\+xml|xml|json|ld\+json|rss\+xml|atom\+xml))$/;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const AGAIN = new Set([408, 425, 429, 500, 502, 503, 504]);

const failure = (
  errorType: string,
  message: string,
  { status = 'error', again = false }: { status?: FetchFailure['status']; again?: boolean } = {},
): FetchFailure => ({ ok: false, status, errorType, message, again });

/** A URL that may be fetched, or the reason why not. */
export function parsePageUrl(raw: string, base?: string): URL | FetchFailure {
  if (raw.length > MAX_URL_CHARS) return failure('invalid_url', 'the URL is too long', { status: 'refused' });
  let url: URL;
  try {
    url = new URL(raw, base);
  } catch {
    return failure('invalid_url', `${raw.slice(0, 200)} is not a URL`, { status: 'refused' });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return failure('unsupported_scheme', `${url.protocol.slice(0, 40)} is not http or https`, { status: 'refused' });
  }
  if (url.username !== '' || url.password !== '') return failure('credentials_in_url', 'the URL has a user in it', { status: 'refused' });
  url.hash = '';
  return url;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as NodeJS.ErrnoException;
  return code ?? codeOf(error.cause);
}

const isPrivate = (error: unknown): boolean =>
  codeOf(error) === 'PRIVATE_ADDRESS' || (error instanceof AggregateError && error.errors.some((one) => codeOf(one) === 'PRIVATE_ADDRESS'));

const KINDS: Readonly<Record<string, readonly [errorType: string, again: boolean]>> = {
  ENOTFOUND: ['dns', false],
  EAI_AGAIN: ['dns', true],
  ECONNREFUSED: ['connection_refused', true],
  ECONNRESET: ['connection_lost', true],
  UND_ERR_SOCKET: ['connection_lost', true],
  UND_ERR_HEADERS_OVERFLOW: ['bad_answer', false],
  HPE_HEADER_OVERFLOW: ['bad_answer', false],
};

/** Classifies an error of a request. */
function failed(error: unknown, ended: 'timeout' | 'aborted' | undefined): FetchFailure {
  if (isPrivate(error)) return failure('private_address', 'the address is not a public one', { status: 'refused' });
  if (ended === 'aborted') return failure('aborted', 'the call was stopped', { status: 'timeout' });
  const code = codeOf(error);
  if (ended === 'timeout' || /TIMEOUT/.test(code))
    return failure('timeout', 'the page did not come in time', { status: 'timeout', again: true });
  const [errorType, again] = KINDS[code] ?? [code.startsWith('HPE_') || code.startsWith('Z_') ? 'bad_answer' : 'connection_failed', false];
  return failure(errorType, messageOf(error).slice(0, 300), { again });
}

const headerOf = (headers: Dispatcher.ResponseData['headers'], name: string): string => {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
};

function decoder(encoding: string): Transform | undefined | 'unknown' {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return 'unknown';
  }
}

/** Reads up to the limit and closes the connection if there is more. */
async function readBody(body: Readable, through: Transform | undefined, maxBytes: number): Promise<{ bytes: Buffer; cut: boolean }> {
  const source = through === undefined ? body : body.pipe(through);
  if (through !== undefined) body.once('error', (error) => through.destroy(error));
  const chunks: Buffer[] = [];
  let [length, cut] = [0, false];
  try {
    for await (const chunk of source) {
      const bytes = chunk as Buffer;
      chunks.push(bytes.subarray(0, maxBytes - length));
      length += bytes.length;
      if (length <= maxBytes) continue;
      cut = true;
      break;
    }
  } finally {
    body.on('error', () => undefined);
    source.destroy();
    body.destroy();
  }
  return { bytes: Buffer.concat(chunks), cut };
}

function discard(body: Readable): void {
  body.on('error', () => undefined);
  body.destroy();
}

type FetchStep = FetchedPage | FetchFailure | { readonly ok: 'moved'; readonly to: string };

async function step(url: URL, limits: PageLimits, { dispatcher, signal }: FetchContext): Promise<FetchStep> {
  const { statusCode, headers, body } = await request(url, {
    dispatcher,
    signal,
    headersTimeout: limits.timeoutMs,
    bodyTimeout: limits.timeoutMs,
    headers: {
      'user-agent': 'turnstream (research agent)',
      accept: 'text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5',
      'accept-encoding': 'gzip, deflate, br',
    },
  });
  const location = headerOf(headers, 'location');
  if (REDIRECTS.has(statusCode) && location !== '') {
    discard(body);
    return { ok: 'moved', to: location };
  }
  if (statusCode < 200 || statusCode >= 300) {
    discard(body);
    return failure(`http_${statusCode}`, `the server answered ${statusCode}`, { again: AGAIN.has(statusCode) });
  }
  const contentType = headerOf(headers, 'content-type') || 'text/html';
  const through = decoder(headerOf(headers, 'content-encoding'));
  if (!TEXT_TYPES.test((contentType.split(';')[0] ?? '').trim().toLowerCase()) || through === 'unknown') {
    discard(body);
    return failure('unsupported_type', `${contentType.slice(0, 80)} is no text`);
  }
  return { ok: true, url: url.href, contentType, ...(await readBody(body, through, limits.maxBytes)) };
}

interface FetchContext {
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
}

async function follow(raw: string, limits: PageLimits, asking: FetchContext): Promise<FetchedPage | FetchFailure> {
  const seen = new Set<string>();
  let url = parsePageUrl(raw);
  for (let redirects = 0; redirects <= limits.maxRedirects; redirects += 1) {
    if (!(url instanceof URL)) return url;
    if (seen.has(url.href)) return failure('redirect_loop', 'the page redirects to itself');
    seen.add(url.href);
    const done = await step(url, limits, asking);
    if (done.ok !== 'moved') return done;
    url = parsePageUrl(done.to, url.href);
  }
  return failure('too_many_redirects', `more than ${limits.maxRedirects} redirects`);
}

/** Fetches a page within its limits; never rejects. */
export async function fetchPage(
  url: string,
  limits: PageLimits,
  { dispatcher, signal }: FetchContext,
): Promise<FetchedPage | FetchFailure> {
  const controller = new AbortController();
  let ended: 'timeout' | 'aborted' | undefined;
  const end = (why: 'timeout' | 'aborted'): void => {
    ended ??= why;
    controller.abort();
  };
  const onAbort = (): void => {
    end('aborted');
  };
  const timer = setTimeout(() => {
    end('timeout');
  }, limits.timeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await follow(url, limits, { dispatcher, signal: controller.signal });
  } catch (error) {
    return failed(error, ended);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
