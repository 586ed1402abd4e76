// The bytes of a file that a policy names, as a stream: from a disk, or over HTTP. A private address is refused unless the operator has
// allowed it; redirects are followed and pass the same check. Nothing more is read once the limit is reached.
import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { request, type Dispatcher } from 'undici';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';

export interface SourceLimits {
  readonly maxBytes: number;
  readonly dispatcher: Dispatcher;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;

/** A URI without its user and query, which may hold secrets. */
function shownUri(uri: string): string {
  try {
    const { protocol, host, pathname } = new URL(uri);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return uri.slice(0, 200);
  }
}

/** Weights that are not the published ones: a retry does not help. */
export const mismatch = (uri: string, what: string, cause?: unknown): PlatformError =>
  new PlatformError('WEIGHTS_MISMATCH', `reading weights from ${shownUri(uri)}: ${what}`, { cause });

const unavailable = (uri: string, what: string, cause?: unknown): PlatformError =>
  new PlatformError('WEIGHTS_UNAVAILABLE', `reading weights from ${shownUri(uri)}: ${what}`, { cause });

export const isReadable = (uri: string): boolean => /^(file|https?):/.test(uri);

/** Throws WEIGHTS_UNAVAILABLE if the file cannot be read now, WEIGHTS_MISMATCH if it never can be. */
export async function* bytesOf(uri: string, limits: SourceLimits): AsyncGenerator<Buffer> {
  if (!isReadable(uri)) throw mismatch(uri, 'only file:, http:, and https: can be read here');
  let left = limits.maxBytes;
  try {
    for await (const chunk of uri.startsWith('file:') ? fileAt(uri, limits) : await bodyAt(uri, limits)) {
      left -= (chunk as Buffer).length;
      if (left < 0) throw mismatch(uri, `there are more than ${limits.maxBytes} bytes; TURNSTREAM_WEIGHTS_MAX_MB allows more`);
      yield chunk as Buffer;
    }
  } catch (cause) {
    limits.signal?.throwIfAborted();
    if (cause instanceof PlatformError) throw cause;
    if ((cause as NodeJS.ErrnoException).code === 'EISDIR') throw mismatch(uri, 'it is a folder, published without a manifest', cause);
    throw unavailable(uri, reasonOf(cause), cause);
  }
}

/** Includes the inner error, because only that one names a private address. */
const reasonOf = (error: unknown): string => {
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error instanceof Error ? error.cause : undefined;
  return inner === undefined ? messageOf(error) : `${messageOf(error)} ${messageOf(inner)}`.trim();
};

function fileAt(uri: string, { signal }: SourceLimits): AsyncIterable<unknown> {
  return createReadStream(fileURLToPath(uri), { highWaterMark: 2 ** 20, ...(signal === undefined ? {} : { signal }) });
}

async function bodyAt(uri: string, { dispatcher, timeoutMs, signal }: SourceLimits): Promise<AsyncIterable<unknown>> {
  let url = new URL(uri);
  for (let moved = 0; moved <= MAX_REDIRECTS; moved += 1) {
    const answer = await request(url, {
      ...{ dispatcher, headersTimeout: timeoutMs, bodyTimeout: timeoutMs },
      headers: { 'user-agent': 'turnstream', 'accept-encoding': 'identity' },
      ...(signal === undefined ? {} : { signal }),
    });
    const { statusCode, headers, body } = answer;
    if (statusCode === 200) return body;
    body.on('error', () => undefined);
    body.destroy();
    const location = String(headers['location'] ?? '');
    if (!REDIRECTS.has(statusCode) || location === '') throw unavailable(uri, `HTTP ${statusCode}`);
    url = new URL(location, url);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw mismatch(uri, 'it redirects away from http');
  }
  throw mismatch(uri, `more than ${MAX_REDIRECTS} redirects`);
}
