// The state of a group member between two rebalances: the ranges of its partitions and, to be repeated before them, what a departed member
// had announced. No IO, no clock.
import type { EventTopic } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { GroupSession, LogBatch, Position, CommittedOffsets } from '../../streams/core/ports.ts';
import type { PartitionRange } from './bundle.ts';
import { INSERTS_AT_ONCE, type TakenRecord } from './flush.ts';
import type { Top } from './holdings.ts';
import { createPartitionRanges, type Limits, type PartitionRanges } from './range.ts';
import { partOf, repeatsIn, type Repeat } from './repeats.ts';
import type { StartPlan } from './start-plan.ts';

/** Tasks wait longer by this factor: an insert costs the same for one row as for a thousand, and tasks are not needed before turns. */
const TASKS_WAIT = 3;

interface Partition {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly ranges: PartitionRanges<TakenRecord>;
  readonly limits: Limits;
  /** Below this offset, the tables may already hold some of the records. */
  readonly askBelow: number;
  /** A record that the tables hold, until it is compared with the same offset of the log. */
  check: Top | undefined;
}

/** Where a member starts a partition. */
export interface PartitionStart {
  readonly plan: StartPlan;
  /** End offset of the log. */
  readonly end: number;
  /** The last record that the tables hold, if the log should have it too. */
  readonly check?: Top;
}

/** A partition of which nothing is stored until an operator decides what happens to the missing records. */
export interface Parked {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly plan: Exclude<StartPlan, { kind: 'read' }>;
  /** Where reading continues; nothing read there is kept. */
  readonly end: number;
}

/** What is known about a topic when its partitions are assigned. */
export interface TopicStart {
  readonly committed: CommittedOffsets;
  readonly plans: ReadonlyMap<number, PartitionStart>;
  readonly limits: Limits;
}

const keyOf = (topic: EventTopic, partition: number): string => `${topic}/${partition}`;

export class Assignment {
  /** Undefined until all partitions are known. */
  session: GroupSession | undefined;
  readonly #partitions = new Map<string, Partition>();
  readonly #reading = new AbortController();
  #repeats: readonly Repeat[] = [];
  #starts: readonly Position[] = [];
  #parked: readonly Parked[] = [];
  #over = false;

  /** True once the partitions may belong to another member. */
  isOver(): boolean {
    return this.#over;
  }

  end(): void {
    this.#over = true;
    this.stopReading();
  }

  /** Aborts reading back the ranges to repeat. */
  stopReading(): void {
    this.#reading.abort(new PlatformError('GROUP_FENCED', 'reading back a range: the partition is no longer ours'));
  }

  /** Aborts with GROUP_FENCED. */
  get reading(): AbortSignal {
    return this.#reading.signal;
  }

  /** Adds partitions of a topic; `committed` may contain others as well. */
  add(topic: EventTopic, { committed, plans, limits }: TopicStart): void {
    const read = committed.filter(({ partition }) => plans.get(partition)?.plan.kind === 'read');
    const repeats = repeatsIn(topic, read);
    this.#repeats = [...this.#repeats, ...repeats];
    const behind = new Map(repeats.flatMap(({ commits }) => commits.map(({ partition, next }) => [partition, next] as const)));
    const waitMs = limits.waitMs * (topic === 'tasks' ? TASKS_WAIT : 1);
    for (const [partition, { plan, end, check }] of plans) {
      if (plan.kind !== 'read') {
        this.#parked = [...this.#parked, { topic, partition, plan, end }];
        continue;
      }
      const from = behind.get(partition) ?? plan.from;
      const ranges = createPartitionRanges<TakenRecord>(from, { ...limits, waitMs });
      this.#partitions.set(keyOf(topic, partition), { topic, partition, ranges, limits, askBelow: plan.askBelow, check });
      const offset = Math.min(from, check?.offset ?? from);
      if (from >= 0) this.#starts = [...this.#starts, { topic, partition, offset }];
    }
  }

  /** The start positions that are known so far. */
  positions(): readonly Position[] {
    return [...this.#starts, ...this.#parked.map(({ topic, partition, end }) => ({ topic, partition, offset: end }))];
  }

  /** Compares the log with the last record that the tables hold, and parks a partition whose record differs. */
  check({ topic, partition, records, nextOffset, endOffset }: LogBatch): Parked | undefined {
    const known = this.#partitions.get(keyOf(topic, partition));
    const check = known?.check;
    if (known === undefined || check === undefined || nextOffset <= check.offset) return undefined;
    known.check = undefined;
    const found = records.find(({ offset }) => offset === check.offset);
    if (found !== undefined && Math.trunc(found.timestampMs) === check.timestampMs) return undefined;
    const parked: Parked = { topic, partition, plan: { kind: 'tail-replaced', at: check.offset }, end: endOffset };
    this.#partitions.delete(keyOf(topic, partition));
    this.#repeats = this.#repeats.flatMap((repeat) => (repeat.topic === topic ? partOf(repeat, (other) => other !== partition) : [repeat]));
    this.#parked = [...this.#parked, parked];
    return parked;
  }

  parked(): readonly Parked[] {
    return this.#parked;
  }

  isParked(topic: EventTopic, partition: number): boolean {
    return this.#parked.some((one) => one.topic === topic && one.partition === partition);
  }

  names(): readonly string[] {
    return [...this.#partitions.keys()];
  }

  /** Undefined when the partition is not assigned or was forgotten. */
  ranges(topic: EventTopic, partition: number): PartitionRanges<TakenRecord> | undefined {
    return this.#partitions.get(keyOf(topic, partition))?.ranges;
  }

  /**
   * The repeat that must be inserted before anything else of its partitions: committing a later range would overwrite its announcement. So
   * checked partitions do not wait for the others. It stays the same until `removeRepeat`.
   */
  repeat(): Repeat | undefined {
    for (const repeat of this.#repeats) {
      const isChecked = (partition: number): boolean => this.#partitions.get(keyOf(repeat.topic, partition))?.check === undefined;
      const [ready] = partOf(repeat, isChecked);
      if (ready === undefined) continue;
      if (ready.bounds.length === repeat.bounds.length) return repeat;
      const others = partOf(repeat, (partition) => !isChecked(partition));
      this.#repeats = this.#repeats.flatMap((one) => (one === repeat ? [ready, ...others] : [one]));
      return ready;
    }
    return undefined;
  }

  removeRepeat(repeat: Repeat): void {
    this.#repeats = this.#repeats.filter((one) => one !== repeat);
  }

  /**
   * When a range of a topic is old enough, or the ranges of its partitions fill an insert together, the ranges of all its partitions are due.
   * The oldest come first, as many as fill the inserts that run at the same time.
   */
  due(nowMs: number, force: boolean): readonly PartitionRange<TakenRecord>[] {
    const partitions = [...this.#partitions.values()];
    const ripe = new Set(partitions.filter(({ ranges }) => ranges.ripe(nowMs)).map(({ topic }) => topic));
    for (const topic of this.#fullTopics()) ripe.add(topic);
    const due = partitions.flatMap(({ topic, partition, ranges, limits, askBelow }) => {
      const range = ranges.due(nowMs, force || ripe.has(topic));
      // closed by now, so it has been due since its first record
      const sinceMs = ranges.dueAt() ?? 0;
      return range === undefined ? [] : [{ topic, partition, range, asks: range.min < askBelow, sinceMs, limits }];
    });
    let inserts = 0;
    return due
      .sort((one, other) => one.sinceMs - other.sinceMs)
      .filter(({ range, limits }) => {
        const fits = inserts < INSERTS_AT_ONCE;
        inserts += Math.max(range.bytes / limits.bytes, range.entries.length / limits.records);
        return fits;
      });
  }

  /** Topics whose buffered records fill an insert. */
  #fullTopics(): readonly EventTopic[] {
    const sums = new Map<EventTopic, { bytes: number; records: number }>();
    const full = new Set<EventTopic>();
    for (const { topic, ranges, limits } of this.#partitions.values()) {
      const pending = ranges.pending();
      const sum = sums.get(topic) ?? { bytes: 0, records: 0 };
      sum.bytes += pending.bytes;
      sum.records += pending.records;
      sums.set(topic, sum);
      if (sum.records >= limits.records || sum.bytes >= limits.bytes) full.add(topic);
    }
    return [...full];
  }

  removeStored(stored: readonly PartitionRange<TakenRecord>[]): void {
    for (const { topic, partition } of stored) this.ranges(topic, partition)?.removeStored();
  }

  /** When the first range becomes due; infinite when there is none. */
  dueAt(): number {
    let at = Infinity;
    for (const { ranges } of this.#partitions.values()) at = Math.min(at, ranges.dueAt() ?? Infinity);
    return at;
  }

  /** Buffered but not stored. */
  buffered(): { readonly bytes: number; readonly records: number } {
    let [bytes, records] = [0, 0];
    for (const { ranges } of this.#partitions.values()) {
      const pending = ranges.pending();
      bytes += pending.bytes;
      records += pending.records;
    }
    return { bytes, records };
  }

  /** Records that are in the log but not in the tables. */
  behind(): readonly { readonly topic: EventTopic; readonly behind: number }[] {
    const gathering = [...this.#partitions.values()].map(({ topic, ranges }) => {
      const { next, end } = ranges.position();
      return { topic, behind: Math.max(end - next, 0) + ranges.pending().records };
    });
    const repeating = this.#repeats.flatMap(({ commits }) => commits.map(({ topic, from, next }) => ({ topic, behind: next - from })));
    return [...gathering, ...repeating];
  }

  /** Leaves everything to the next assignment, which starts from the committed offsets. */
  forget(): void {
    this.#partitions.clear();
    this.#repeats = [];
  }
}
