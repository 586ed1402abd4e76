// Simulates what a power loss, or the election of a broker that lagged, does to a partition: its newest records are gone from every
// replica, although they were acknowledged. The files are truncated while no broker runs; Kafka rebuilds its indexes.
import { readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { decodeRecordBatches, type FetchedRecord } from '../../kafka/records/record-batches.ts';

export interface CutTail {
  /** The new end of the partition. */
  readonly from: number;
  /** The previous end. */
  readonly to: number;
  /** The lost records, without transaction markers. */
  readonly records: readonly FetchedRecord[];
}

interface TailBatch {
  readonly baseOffset: number;
  readonly nextOffset: number;
  /** Offset in its file, bytes. */
  readonly at: number;
  readonly isMarker: boolean;
  /** Part of a transaction, which ends with a marker. */
  readonly isUndecided: boolean;
}

interface LogSegment {
  readonly file: string;
  readonly bytes: Buffer;
  readonly batches: readonly TailBatch[];
}

const HEADER_BYTES = 61;
const LENGTH_AT = 8;
const LENGTH_END = 12;
const ATTRIBUTES_AT = 21;
const LAST_DELTA_AT = 23;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/**
 * Removes the newest batches from each replica of a partition: `batches` or slightly more, within the newest segment. Undefined when they
 * are only transaction markers. Transactions are removed completely: without its marker, a transaction blocks every reader of committed
 * records, and the next start ends only the newest transaction of each transactional id (kafka/transactions/finish.ts).
 */
export async function cutTail(replicas: readonly string[], batches: number): Promise<CutTail | undefined> {
  const segments = replicas.map(newestSegment);
  const shortest = [...segments].sort((a, b) => endOf(a) - endOf(b))[0];
  const lost = wholeFrom(shortest?.batches ?? [], batches);
  const [first] = lost;
  if (first === undefined || lost.every(({ isMarker }) => isMarker)) return undefined;
  const longest = segments.reduce((best, segment) => (endOf(segment) > endOf(best) ? segment : best));
  const bytes = longest.bytes.subarray(longest.batches.find(({ baseOffset }) => baseOffset >= first.baseOffset)?.at ?? 0);
  // copied, so that the rest of the segment can be freed
  const records = (await decodeRecordBatches(Buffer.from(bytes))).filter(({ isControlRecord }) => !isControlRecord);
  segments.forEach((segment, i) => {
    truncate(replicas[i] ?? '', segment, first.baseOffset);
  });
  return { from: first.baseOffset, to: endOf(longest), records };
}

/** Removes the marker at the end of a partition, so that its last transaction has no end; false if there is none. */
export function cutMarker(replica: string): boolean {
  const segment = newestSegment(replica);
  const last = segment.batches.at(-1);
  if (last?.isMarker !== true) return false;
  truncate(replica, segment, last.baseOffset);
  return true;
}

function wholeFrom(all: readonly TailBatch[], batches: number): readonly TailBatch[] {
  let at = Math.max(0, all.length - batches);
  while (all[at - 1]?.isUndecided === true) at -= 1;
  return all.slice(at);
}

/** Number of our batches in the newest segment, without transaction markers. */
export const newestBatches = (replica: string): number => newestSegment(replica).batches.filter(({ isMarker }) => !isMarker).length;

const endOf = ({ batches }: LogSegment): number => batches.at(-1)?.nextOffset ?? 0;

function newestSegment(dir: string): LogSegment {
  const file = readdirSync(dir)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .at(-1);
  if (file === undefined) throw new Error(`${dir} has no segment`);
  const bytes = readFileSync(join(dir, file));
  return { file, bytes, batches: batchesOf(bytes) };
}

function batchesOf(bytes: Buffer): readonly TailBatch[] {
  const batches: TailBatch[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length;) {
    const end = at + LENGTH_END + bytes.readInt32BE(at + LENGTH_AT);
    // a killed broker may leave a partial batch, and one that preallocates leaves zeros
    if (end > bytes.length || end < at + HEADER_BYTES) break;
    const baseOffset = Number(bytes.readBigInt64BE(at));
    const nextOffset = baseOffset + bytes.readInt32BE(at + LAST_DELTA_AT) + 1;
    const attributes = bytes.readInt16BE(at + ATTRIBUTES_AT);
    const isMarker = (attributes & CONTROL) !== 0;
    batches.push({ baseOffset, nextOffset, at, isMarker, isUndecided: !isMarker && (attributes & TRANSACTIONAL) !== 0 });
    at = end;
  }
  return batches;
}

function truncate(dir: string, { file, batches }: LogSegment, from: number): void {
  const first = batches.find(({ baseOffset }) => baseOffset >= from);
  if (first === undefined) return;
  truncateSync(join(dir, file), first.at);
  const base = file.slice(0, -'.log'.length);
  for (const end of ['.index', '.timeindex', '.txnindex']) rmSync(join(dir, base + end), { force: true });
  for (const name of readdirSync(dir)) {
    if (name.endsWith('.snapshot') && Number(name.slice(0, -'.snapshot'.length)) > from) rmSync(join(dir, name), { force: true });
  }
}
