// Sends responses: ClickHouse's headers, bodies in one piece or block by block, gzip on request. A result that fails after its first block
// ends with ClickHouse's exception block and a broken connection, so that no client takes it for complete.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createDeflate, createGzip, type Deflate, type Gzip } from 'node:zlib';
import { failureOf } from '../clickhouse-error.ts';
import { contentTypeOf } from './formats.ts';

export interface AnswerContext {
  readonly response: ServerResponse;
  readonly queryId: string;
  readonly encoding: 'gzip' | 'deflate' | undefined;
  readonly version: string;
  readonly timezone: string;
  readonly serverName: string;
}

export interface Summary {
  readonly readRows?: number;
  readonly readBytes?: number;
  readonly writtenRows?: number;
  readonly writtenBytes?: number;
  readonly resultRows?: number;
  readonly resultBytes?: number;
  readonly elapsedMs?: number;
}

/** The first supported encoding that the client accepts; undefined when it did not turn compression on. */
export function encodingFor(request: IncomingMessage, wanted: boolean): 'gzip' | 'deflate' | undefined {
  if (!wanted) return undefined;
  const taken = (request.headers['accept-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((item) => item.trim())
    .filter((item) => !/;\s*q=0(\.0*)?$/.test(item))
    .map((item) => item.split(';')[0]);
  return taken.includes('gzip') || taken.includes('*') ? 'gzip' : taken.includes('deflate') ? 'deflate' : undefined;
}

function summaryOf(summary: Summary): string {
  const figures = {
    read_rows: summary.readRows,
    read_bytes: summary.readBytes,
    written_rows: summary.writtenRows,
    written_bytes: summary.writtenBytes,
    total_rows_to_read: 0,
    result_rows: summary.resultRows,
    result_bytes: summary.resultBytes,
    elapsed_ns: Math.round((summary.elapsedMs ?? 0) * 1e6),
  };
  return JSON.stringify(Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, String(value ?? 0)])));
}

function startHeaders(context: AnswerContext, format: string, summary: Summary): void {
  const { response } = context;
  response.setHeader('Content-Type', contentTypeOf(format));
  response.setHeader('X-ClickHouse-Server-Display-Name', context.serverName);
  response.setHeader('X-ClickHouse-Query-Id', context.queryId);
  response.setHeader('X-ClickHouse-Format', format);
  response.setHeader('X-ClickHouse-Timezone', context.timezone);
  response.setHeader('X-ClickHouse-Summary', summaryOf(summary));
  if (context.encoding !== undefined) response.setHeader('Content-Encoding', context.encoding);
}

const compressor = (encoding: 'gzip' | 'deflate'): Gzip | Deflate =>
  encoding === 'gzip' ? createGzip({ level: 1 }) : createDeflate({ level: 1 });

/** Sends a complete result. */
export async function sendWhole(
  context: AnswerContext,
  body: Buffer,
  about: { readonly format: string; readonly summary: Summary },
): Promise<void> {
  startHeaders(context, about.format, about.summary);
  if (context.encoding === undefined) {
    context.response.setHeader('Content-Length', body.length);
    context.response.end(body);
    return;
  }
  await pipeline(Readable.from([body]), compressor(context.encoding), context.response);
}

/** Streams blocks with backpressure. The first block is awaited before the headers are sent. */
export async function sendBlocks(context: AnswerContext, blocks: AsyncIterable<Buffer>, format: string): Promise<void> {
  const iterator = blocks[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) {
    await sendWhole(context, Buffer.alloc(0), { format, summary: {} });
    return;
  }
  startHeaders(context, format, {});
  const tag = randomBytes(8).toString('hex');
  context.response.setHeader('X-ClickHouse-Exception-Tag', tag);
  const broken: { error?: unknown } = {};
  const whole = rest(paced(first.value, iterator, context.response), { tag, version: context.version, broken });
  if (context.encoding === undefined) await pipeline(whole, context.response, { end: false });
  else await pipeline(whole, compressor(context.encoding), context.response, { end: false });
  if (broken.error === undefined) context.response.end();
  else context.response.write('', () => context.response.destroy());
}

/** A client that reads nothing for this long is disconnected, so that it does not hold its slot forever. */
const STALL_MS = 60_000;

async function* paced(first: Buffer, iterator: AsyncIterator<Buffer>, response: ServerResponse): AsyncGenerator<Buffer> {
  let block: Buffer | undefined = first;
  try {
    while (block !== undefined) {
      const stalled = setTimeout(() => response.destroy(), STALL_MS);
      try {
        yield block;
      } finally {
        clearTimeout(stalled);
      }
      const next: IteratorResult<Buffer> = await iterator.next();
      block = next.done === true ? undefined : next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

async function* rest(
  blocks: AsyncIterable<Buffer>,
  about: { readonly tag: string; readonly version: string; readonly broken: { error?: unknown } },
): AsyncGenerator<Buffer> {
  try {
    yield* blocks;
  } catch (error) {
    about.broken.error = error;
    yield exceptionBlock(failureOf(error).text(about.version), about.tag);
  }
}

function exceptionBlock(text: string, tag: string): Buffer {
  const size = Buffer.byteLength(text);
  return Buffer.from(`\r\n__exception__\r\n${tag}\r\n${text}${size} ${tag}\r\n__exception__\r\n`);
}

/** Sends an error. If a response has begun, breaks the connection instead. */
export function sendFailure(context: AnswerContext, error: unknown): void {
  const { response } = context;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const failure = failureOf(error);
  const body = Buffer.from(failure.text(context.version));
  response.statusCode = failure.httpStatus;
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
  response.setHeader('Content-Length', body.length);
  response.setHeader('X-ClickHouse-Server-Display-Name', context.serverName);
  response.setHeader('X-ClickHouse-Query-Id', context.queryId);
  response.setHeader('X-ClickHouse-Exception-Code', failure.code);
  response.setHeader('X-ClickHouse-Timezone', context.timezone);
  response.removeHeader('Content-Encoding');
  response.end(body);
}
