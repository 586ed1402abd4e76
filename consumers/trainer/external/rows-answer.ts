// The HTTP response with the rows of a batch: as Arrow or NDJSON, all rows or a shard, in full or as a byte range, or 304 if the client has
// them. The same request always gets the same bytes.
import { encodeRows, mediaTypes, type RowFormat } from '../../common/rows/encode.ts';
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { RowsAnswer, RowsRequest } from '../../../streams/leases/coordinator.ts';
import type { BatchRows } from '../../../streams/leases/batch-rows.ts';
import type { TokenRow } from '../../../streams/rows/row.ts';

/** Throws ROWS_GONE if the log no longer has the records that the rows were made from. */
export async function answerRows(lease: BatchLeased, rows: BatchRows, request: RowsRequest): Promise<RowsAnswer> {
  const format = formatFor(request.accept);
  const etag = `"${lease.batch_sha256}${format === 'arrow' ? '.arrow' : ''}"`;
  const shard = shardOf(request.shard, lease.rows);
  const headers = { etag, vary: 'accept', 'cache-control': 'private, immutable', 'accept-ranges': 'bytes' };
  if (names(request.ifNoneMatch, etag)) return { status: 304, headers, body: undefined };
  const { sha256 } = await rows.measure(lease);
  if (sha256 !== lease.batch_sha256) {
    throw new PlatformError('ROWS_GONE', `reading the rows of batch ${lease.batch_id}: the log does not have all of its records any more`);
  }
  const bytes = (): AsyncIterable<Buffer> => encodeRows(within(rows.rows(lease), shard), format);
  const typed = { ...headers, 'content-type': mediaTypes[format] };
  const wanted = request.ifRange === undefined || request.ifRange === etag ? rangeOf(request.range) : undefined;
  if (wanted === undefined) return { status: 200, headers: typed, body: bytes() };
  const total = await sizeOf(bytes());
  const { start, end } = boundsOf(wanted, total, lease.batch_id);
  const part = { 'content-range': `bytes ${start}-${end - 1}/${total}`, 'content-length': String(end - start) };
  return { status: 206, headers: { ...typed, ...part }, body: bytesWithin(bytes(), start, end) };
}

/** NDJSON unless the Accept header prefers Arrow. */
function formatFor(accept = ''): RowFormat {
  const liked = new Map(
    accept.split(',').map((one) => {
      const [type = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((text) => text.startsWith('q='))?.slice(2);
      return [type, weight === undefined ? 1 : Number(weight)] as const;
    }),
  );
  return (liked.get(mediaTypes.arrow) ?? 0) > (liked.get(mediaTypes.ndjson) ?? 0) ? 'arrow' : 'ndjson';
}

interface Extent {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** The rows of shard `i/n`. Shards are consecutive, and each is a complete document. */
function shardOf(shard: string | undefined, rows: number): Extent {
  const [part = 0, of = 1] = (shard ?? '0/1').split('/').map(Number);
  if (!(part < of))
    throw new PlatformError('REQUEST_INVALID', `reading a shard of rows: there is no part ${part} of ${of}; they count from 0`);
  return { start: Math.floor((part * rows) / of), end: Math.floor(((part + 1) * rows) / of) };
}

async function* within(rows: AsyncIterable<TokenRow>, { start, end }: Extent): AsyncGenerator<TokenRow, void, undefined> {
  for await (const row of rows) {
    if (row.row >= end) return;
    if (row.row >= start) yield row;
  }
}

/** True if an If-None-Match header contains the tag. */
const names = (header: string | undefined, etag: string): boolean =>
  header !== undefined && header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);

interface AskedRange {
  /** Undefined: the last `end` bytes. */
  readonly first: number | undefined;
  /** Inclusive; undefined: to the end. */
  readonly last: number | undefined;
}

/** Undefined for several ranges and for anything else that is not one byte range: the header is then ignored. */
function rangeOf(header: string | undefined): AskedRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first + last === '' || (first !== '' && last !== '' && Number(last) < Number(first))) return undefined;
  const numberOf = (text: string): number | undefined => (text === '' ? undefined : Number(text));
  return { first: numberOf(first), last: numberOf(last) };
}

function boundsOf({ first, last }: AskedRange, total: number, batchId: string): Extent {
  const start = first ?? Math.max(0, total - (last ?? 0));
  const end = first === undefined || last === undefined ? total : Math.min(total, last + 1);
  if (start < end) return { start, end };
  throw new PlatformError('RANGE_UNSATISFIABLE', `reading a range of the rows of batch ${batchId}: there are ${total} bytes`);
}

async function sizeOf(chunks: AsyncIterable<Buffer>): Promise<number> {
  let size = 0;
  for await (const { length } of chunks) size += length;
  return size;
}

async function* bytesWithin(chunks: AsyncIterable<Buffer>, start: number, end: number): AsyncGenerator<Buffer, void, undefined> {
  let at = 0;
  for await (const chunk of chunks) {
    if (at + chunk.length > start) yield chunk.subarray(Math.max(0, start - at), end - at);
    at += chunk.length;
    if (at >= end) return;
  }
}
