// Ranges of several partitions of one topic that are inserted together: an insert costs the same for one row as for a thousand, and the
// number of inserts per second is limited.
//
// Invariants
// - A bundle is announced in full with each of its partitions, in one commit. After a crash, the new owner of some of these partitions
//   repeats their records, and no others.
// - The token of an insert depends only on the bounds and the records.
import { createHash } from 'node:crypto';
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { OffsetBounds, ClosedRange, RangeEntry, Limits } from './range.ts';
import type { TableName } from './rows/tables.ts';

export interface PartitionBounds extends OffsetBounds {
  readonly partition: number;
}

export interface Bundle<E extends RangeEntry> {
  readonly topic: EventTopic;
  readonly bounds: readonly PartitionBounds[];
  /** In the order of each partition. */
  readonly entries: readonly E[];
  /** The tables may hold some of it, so they are queried before the insert. */
  readonly asks: boolean;
}

export interface PartitionRange<E extends RangeEntry> {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly range: ClosedRange<E>;
  readonly asks: boolean;
}

/** What a member commits for one of its partitions: `from` with the metadata before the insert, `next` after. */
export interface OffsetCommit {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly from: number;
  readonly next: number;
  /** Empty when there is nothing to announce. */
  readonly metadata: string;
}

/** What one flush inserts and commits. */
export interface FlushWork<E extends RangeEntry> {
  readonly bundles: readonly Bundle<E>[];
  readonly commits: readonly OffsetCommit[];
}

/** Every partition carries the whole announcement; a broker stores up to 4,096 bytes of metadata, and this takes at most 650. */
const PARTITIONS_OF_BUNDLE = 16;
const ALONE = /^v1:(\d{1,16}):(\d{1,16})$/;
const BOUNDS = String.raw`\d{1,5}:\d{1,16}:\d{1,16}`;
const TOGETHER = new RegExp(`^v2:(${BOUNDS}(?:,${BOUNDS})+)$`);

/** The bounds of a bundle as the metadata of an offset commit. */
export function announce(bounds: readonly PartitionBounds[]): string {
  const [first] = bounds;
  if (bounds.length === 1 && first !== undefined) return `v1:${first.min}:${first.max}`;
  return `v2:${bounds.map(({ partition, min, max }) => `${partition}:${min}:${max}`).join(',')}`;
}

/** The bounds that the metadata of a partition announces, including its own; undefined when it announces none. */
export function announced(metadata: string, partition: number): readonly PartitionBounds[] | undefined {
  const bounds = boundsIn(metadata, partition);
  const partitions = new Set(bounds.map((one) => one.partition));
  const sound = partitions.has(partition) && partitions.size === bounds.length && bounds.every(({ min, max }) => min <= max);
  return sound ? bounds : undefined;
}

function boundsIn(metadata: string, partition: number): readonly PartitionBounds[] {
  const alone = ALONE.exec(metadata);
  if (alone !== null) return [{ partition, min: Number(alone[1]), max: Number(alone[2]) }];
  const together = TOGETHER.exec(metadata)?.[1];
  if (together === undefined) return [];
  return together.split(',').map((one) => {
    const [number, min, max] = one.split(':').map(Number);
    return { partition: number ?? -1, min: min ?? 0, max: max ?? -1 };
  });
}

/**
 * `<topic>-<partition>-<min>-<max>-<times>-<table>`; for several partitions, a digest of the announcement replaces the bounds. The times
 * are those of the oldest and the newest record: a log whose tail was cut reuses offsets.
 */
export function tokenOf({ topic, bounds, entries }: Pick<Bundle<Stamped>, 'topic' | 'bounds' | 'entries'>, table: TableName): string {
  const [first] = bounds;
  const alone = bounds.length === 1 && first !== undefined;
  const place = alone
    ? `${first.partition}-${first.min}-${first.max}`
    : createHash('sha256').update(announce(bounds)).digest('hex').slice(0, 32);
  let [oldest, youngest] = [Infinity, -Infinity];
  for (const { record } of entries) {
    oldest = Math.min(oldest, record.timestampMs);
    youngest = Math.max(youngest, record.timestampMs);
  }
  return `${topic}-${place}-${oldest}_${youngest}-${table}`;
}

interface Stamped extends RangeEntry {
  readonly record: { readonly timestampMs: number };
}

interface TopicRanges<E extends RangeEntry> {
  readonly topic: EventTopic;
  readonly ranges: PartitionRange<E>[];
  records: number;
  bytes: number;
}

/** Bundles the ranges of each topic in order, as long as their sum stays within the limits of one range. */
export function bundled<E extends RangeEntry>(
  ranges: readonly PartitionRange<E>[],
  limits: Pick<Limits, 'records' | 'bytes'>,
): FlushWork<E> {
  const groups: TopicRanges<E>[] = [];
  for (const one of ranges) {
    const { entries, bytes } = one.range;
    if (entries.length === 0) continue;
    const last = groups.findLast(({ topic }) => topic === one.topic);
    if (last === undefined || !fits(last, one.range, limits)) {
      groups.push({ topic: one.topic, ranges: [one], records: entries.length, bytes });
      continue;
    }
    last.ranges.push(one);
    last.records += entries.length;
    last.bytes += bytes;
  }
  const metadata = new Map<PartitionRange<E>, string>();
  const bundles = groups.map((group): Bundle<E> => {
    const bounds = group.ranges.map(({ partition, range: { min, max } }) => ({ partition, min, max }));
    const text = announce(bounds);
    for (const one of group.ranges) metadata.set(one, text);
    const asks = group.ranges.some((one) => one.asks);
    return { topic: group.topic, bounds, entries: group.ranges.flatMap(({ range }) => range.entries), asks };
  });
  const commits = ranges.map((one): OffsetCommit => {
    const { topic, partition, range } = one;
    return { topic, partition, from: range.from, next: range.next, metadata: metadata.get(one) ?? '' };
  });
  return { bundles, commits };
}

const fits = <E extends RangeEntry>(group: TopicRanges<E>, range: ClosedRange<E>, limits: Pick<Limits, 'records' | 'bytes'>): boolean =>
  group.ranges.length < PARTITIONS_OF_BUNDLE &&
  group.records + range.entries.length <= limits.records &&
  group.bytes + range.bytes <= limits.bytes;
