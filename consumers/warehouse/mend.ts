// Repairs a partition whose position is not in the log. The log is authoritative: rows of records that it lost are removed, and the sink
// continues where both agree; records that left the log before they were stored are skipped.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { GroupOffsets, LogReader, LogRecord, Position } from '../../streams/core/ports.ts';
import { batchesOf } from '../../streams/core/read-log.ts';
import { LAST_OFFSET, type Holdings, type Top } from './holdings.ts';
import { skip } from './out-of-range.ts';
import { tablesOf, warehouseTopics } from './rows/tables.ts';
import { intendedIn } from './starts.ts';
import { planStart, RANGE_OFFSETS, type StartPlan } from './start-plan.ts';

export interface MendDeps {
  readonly group: string;
  readonly offsets: GroupOffsets & { set(group: string, positions: readonly (Position & { readonly metadata?: string })[]): Promise<void> };
  readonly log: LogReader;
  readonly holdings: Holdings;
}

export interface SurveyedPartition {
  readonly topic: EventTopic;
  readonly partition: number;
  /** Offset of the sink's group; -1 = none. */
  readonly committed: number;
  readonly first: number;
  readonly end: number;
  /** Greatest offset that the tables hold; -1 = none. */
  readonly held: number;
  readonly state: 'ok' | Exclude<StartPlan['kind'], 'read'>;
  /** Undefined when there is nothing to repair. */
  readonly mend: Mend | undefined;
}

interface Mend {
  /** Rows at this offset and above are removed; -1 = none. */
  readonly removeFrom: number;
  /** Where the sink continues; -1 = after what the tables hold. */
  readonly goOnAt: number;
  /** Number of skipped offsets. */
  readonly skipped: number;
}

type KnownPartition = Pick<SurveyedPartition, 'topic' | 'partition' | 'committed' | 'first' | 'end'> & {
  readonly plan: StartPlan;
  readonly top: Top | undefined;
};

/** Examines every partition without changing anything. */
export async function survey(deps: MendDeps): Promise<readonly SurveyedPartition[]> {
  const found: SurveyedPartition[] = [];
  for (const topic of warehouseTopics) {
    for (const known of await knownOf(topic, deps)) found.push(await surveyed(known, deps));
  }
  return found;
}

/** Carries out the survey's repairs. The group must have no members. Safe to repeat. */
export async function mend(partitions: readonly SurveyedPartition[], { group, offsets, holdings }: MendDeps): Promise<void> {
  for (const { topic, partition, first, mend: work } of partitions) {
    if (work === undefined) continue;
    if (work.removeFrom >= 0) {
      await holdings.endInserts(tablesOf(topic), [partition]);
      const bounds = [{ partition, min: work.removeFrom, max: LAST_OFFSET }];
      for (const table of tablesOf(topic)) await holdings.erase(table, topic, bounds);
    }
    const metadata = work.skipped > 0 ? skip(first - work.skipped, first) : '';
    if (work.goOnAt >= 0) await offsets.set(group, [{ topic, partition, offset: work.goOnAt, metadata }]);
  }
}

async function knownOf(topic: EventTopic, { group, offsets, log, holdings }: MendDeps): Promise<readonly KnownPartition[]> {
  const committed = new Map((await offsets.fetch(group, topic)).map((one) => [one.partition, one]));
  const all = await log.bounds(topic);
  const tops = await holdings.tops(topic, new Map(all.map(({ partition }) => [partition, -1])));
  return all.map(({ partition, first, end }) => {
    const { offset, metadata } = committed.get(partition) ?? { offset: -1, metadata: '' };
    const intended = intendedIn(metadata, partition);
    const top = tops.get(partition);
    const plan = planStart({ committed: offset, intended, first, end, top: top?.offset ?? -1 });
    return { topic, partition, first, end, committed: offset, plan, top };
  });
}

async function surveyed(known: KnownPartition, deps: MendDeps): Promise<SurveyedPartition> {
  const { topic, partition, committed, first, end, plan, top } = known;
  const about = { topic, partition, committed, first, end, held: top?.offset ?? -1 };
  if (plan.kind === 'head-cut') {
    return { ...about, state: plan.kind, mend: { removeFrom: -1, goOnAt: plan.to, skipped: plan.to - plan.from } };
  }
  if (plan.kind === 'tail-cut') return { ...about, state: plan.kind, mend: await tailMend(known, deps) };
  if (await isAsStored(known, deps.log)) return { ...about, state: 'ok', mend: undefined };
  return { ...about, state: 'tail-replaced', mend: await tailMend(known, deps) };
}

async function tailMend(known: KnownPartition, deps: MendDeps): Promise<Mend> {
  const { committed, first, top } = known;
  const removeFrom = await partingOf(known, deps);
  // A commit may be beyond what the tables hold; the sink then continues where their rows end.
  const stored = (top?.offset ?? -1) + 1;
  return { removeFrom, goOnAt: committed < 0 ? -1 : Math.max(first, Math.min(committed, removeFrom, stored)), skipped: 0 };
}

const isSame = (record: LogRecord | undefined, timestampMs: number): boolean =>
  record !== undefined && Math.trunc(record.timestampMs) === timestampMs;

/** Whether the log has the last record that the tables hold; also true if retention deleted it. */
async function isAsStored(known: KnownPartition, log: LogReader): Promise<boolean> {
  const { first, top } = known;
  if (top === undefined || top.offset < first) return true;
  const found = await recordsBetween(known, { from: top.offset, to: top.offset + 1 }, log);
  return isSame(found.get(top.offset), top.timestampMs);
}

/** The lowest offset at which the log lost a record that the tables hold, or has a different one; the log's end if there is none. */
async function partingOf(known: KnownPartition, { holdings, log }: MendDeps): Promise<number> {
  const { topic, partition, first, end, top } = known;
  const to = Math.min(end, (top?.offset ?? -1) + 1);
  const from = Math.max(first, to - RANGE_OFFSETS);
  if (from >= to) return end;
  const [records, times] = await Promise.all([recordsBetween(known, { from, to }, log), holdings.times(topic, partition, from)]);
  let parting = end;
  for (const [offset, timestampMs] of times) {
    if (offset < parting && !isSame(records.get(offset), timestampMs)) parting = offset;
  }
  return parting;
}

async function recordsBetween(
  { topic, partition }: KnownPartition,
  { from, to }: { readonly from: number; readonly to: number },
  log: LogReader,
): Promise<ReadonlyMap<number, LogRecord>> {
  const records = new Map<number, LogRecord>();
  const range = { from: new Map([[partition, from]]), to: new Map([[partition, to]]) };
  for await (const batch of batchesOf(log, topic, range)) {
    for (const record of batch.records) records.set(record.offset, { ...record, value: null, key: null, headers: {} });
  }
  return records;
}
