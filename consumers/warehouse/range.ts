// The ranges of one partition: records that are gathered or wait to be inserted. No IO, no clock.
//
// Invariants
// - Ranges are consecutive and do not overlap, in log order; records below the next expected offset are ignored.
// - A range is announced only when it is closed, and a closed range never changes.

/** First and last offset of the records of a range, both inclusive. */
export interface OffsetBounds {
  readonly min: number;
  readonly max: number;
}

export interface Limits {
  readonly records: number;
  readonly bytes: number;
  /** How long a range gathers records before it is closed. */
  readonly waitMs: number;
}

export interface RangeEntry {
  readonly offset: number;
  readonly bytes: number;
}

export interface ClosedRange<E extends RangeEntry> extends OffsetBounds {
  /** Committed while the range is announced: where to start again after a crash. */
  readonly from: number;
  /** Committed when all rows are stored. */
  readonly next: number;
  readonly entries: readonly E[];
  readonly bytes: number;
}

export interface PartitionRanges<E extends RangeEntry> {
  /** Takes the records of one batch, and the offset after it (including transaction markers). */
  offer(batch: { readonly entries: readonly E[]; readonly nextOffset: number; readonly endOffset: number }, nowMs: number): void;
  /** The oldest range, when it is full or old enough (or `force`). It stays the oldest until `removeStored`. */
  due(nowMs: number, force?: boolean): ClosedRange<E> | undefined;
  /** When the oldest range becomes due; undefined when there is none. */
  dueAt(): number | undefined;
  /** True when the oldest range is due by its age alone. */
  ripe(nowMs: number): boolean;
  /** Removes the oldest range after it is stored and its offset committed. */
  removeStored(): void;
  /** Bytes and records that are not stored. */
  pending(): { readonly bytes: number; readonly records: number };
  /** The offset after the last offered one, and the end of the partition as reported with it. */
  position(): { readonly next: number; readonly end: number };
}

interface PartitionSegment<E extends RangeEntry> {
  readonly from: number;
  next: number;
  readonly entries: E[];
  bytes: number;
  /** When its first record or marker arrived. */
  sinceMs: number;
  closed: boolean;
}

/** `start` is the first offset that is not in the tables; -1 when the group has committed none. */
export function createPartitionRanges<E extends RangeEntry>(start: number, limits: Limits): PartitionRanges<E> {
  return new Ranges<E>(start, limits);
}

class Ranges<E extends RangeEntry> implements PartitionRanges<E> {
  readonly #limits: Limits;
  readonly #segments: PartitionSegment<E>[] = [];
  /** Where to start again after a crash when nothing was ever committed: the first offset that arrives decides. */
  #from: number | undefined;
  #expected: number;
  #end: number;

  constructor(start: number, limits: Limits) {
    this.#limits = limits;
    this.#from = start < 0 ? undefined : start;
    this.#expected = Math.max(start, 0);
    this.#end = this.#expected;
  }

  offer(batch: { readonly entries: readonly E[]; readonly nextOffset: number; readonly endOffset: number }, nowMs: number): void {
    for (const entry of batch.entries) if (entry.offset >= this.#expected) this.#take(entry, nowMs);
    this.#end = batch.endOffset;
    if (batch.nextOffset > this.#expected) this.#pass(batch.nextOffset, nowMs);
  }

  due(nowMs: number, force = false): ClosedRange<E> | undefined {
    const first = this.#segments[0];
    if (first === undefined) return undefined;
    if (!first.closed && !force && !this.ripe(nowMs)) return undefined;
    first.closed = true;
    return closedOf(first);
  }

  dueAt(): number | undefined {
    const first = this.#segments[0];
    if (first === undefined) return undefined;
    return first.closed ? first.sinceMs : first.sinceMs + this.#limits.waitMs;
  }

  ripe(nowMs: number): boolean {
    const first = this.#segments[0];
    return first !== undefined && !first.closed && nowMs - first.sinceMs >= this.#limits.waitMs;
  }

  removeStored(): void {
    this.#segments.shift();
  }

  pending(): { readonly bytes: number; readonly records: number } {
    return sizeOf(this.#segments);
  }

  position(): { readonly next: number; readonly end: number } {
    return { next: this.#expected, end: this.#end };
  }

  #take(entry: E, nowMs: number): void {
    const segment = this.#open(entry.offset, nowMs);
    segment.entries.push(entry);
    segment.bytes += entry.bytes;
    this.#advance(segment, entry.offset + 1);
    if (this.#isFull(segment)) segment.closed = true;
  }

  /** Transaction markers are passed too, so that the committed offset reaches the end of the log. */
  #pass(nextOffset: number, nowMs: number): void {
    this.#advance(this.#open(nextOffset, nowMs), nextOffset);
  }

  #open(offset: number, nowMs: number): PartitionSegment<E> {
    const last = this.#segments.at(-1);
    if (last !== undefined && !last.closed) return last;
    const from = this.#from ?? offset;
    const segment: PartitionSegment<E> = { from, next: from, entries: [], bytes: 0, sinceMs: nowMs, closed: false };
    this.#segments.push(segment);
    return segment;
  }

  #advance(segment: PartitionSegment<E>, next: number): void {
    segment.next = next;
    this.#expected = next;
    this.#from = next;
  }

  #isFull(segment: PartitionSegment<E>): boolean {
    return segment.entries.length >= this.#limits.records || segment.bytes >= this.#limits.bytes;
  }
}

function sizeOf(segments: readonly PartitionSegment<RangeEntry>[]): { bytes: number; records: number } {
  let bytes = 0;
  let records = 0;
  for (const segment of segments) {
    bytes += segment.bytes;
    records += segment.entries.length;
  }
  return { bytes, records };
}

function closedOf<E extends RangeEntry>({ from, next, entries, bytes }: PartitionSegment<E>): ClosedRange<E> {
  return { min: entries[0]?.offset ?? from, max: entries.at(-1)?.offset ?? from, from, next, entries, bytes };
}
