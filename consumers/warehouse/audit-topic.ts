// The audit of one topic: its slices, one after the other, and the rows outside every slice.
import type { EventTopic } from '../../schemas/generated/events.ts';
import { isPlatformError } from '../../streams/core/errors.ts';
import type { LogReader } from '../../streams/core/ports.ts';
import { logSide, partings, rowsAbove, strays, tableSides, type ComparedTable, type AuditSide } from './audit-compare.ts';
import { kindOf, type AuditFindings } from './audit-findings.ts';
import { replaySlice, rowsAt, type AuditSources, type Replayed, type AuditedTopic } from './audit-replay.ts';
import { changedColumns, type ColumnDifference } from './audit-rows.ts';
import { endsOf, firstsOf, isOpen, offsetsOf, slicesOf, type Pace, type OffsetWindow } from './audit-slices.ts';
import { isEqual, NO_ROWS, type Tally } from './audit-tally.ts';
import { tablesOf } from './rows/tables.ts';

export interface TopicDeps {
  readonly reading: AuditSources;
  readonly findings: AuditFindings;
  readonly pace: Pace;
  /** Called with the number of records read for a slice. */
  readonly onRecords: (records: number) => void;
}

/** A slice of this many offsets is not split further when its query exceeds a limit. */
const SMALLEST_SLICE = 50;

/** Compares a slice; in parts when it is too large for one query. */
export async function auditSlice(deps: TopicDeps, work: AuditedTopic, slice: readonly OffsetWindow[]): Promise<void> {
  deps.reading.signal?.throwIfAborted();
  const there = await stillThere(deps.reading.reader, work.topic, slice);
  if (there.length === 0) return;
  try {
    if (await compareSlice(deps, work, there)) return;
  } catch (error) {
    if (!isTooMuch(error) || offsetsOf(there) <= SMALLEST_SLICE) throw error;
    deps.pace.tooLarge();
    await work.scratch.clear();
    for (const part of slicesOf(there, () => Math.ceil(offsetsOf(there) / 4))) await auditSlice(deps, work, part);
    return;
  }
  // Retention deleted part of it while it was being read.
  await work.scratch.clear();
  await auditSlice(deps, work, slice);
}

/** The slice without what retention has deleted. */
async function stillThere(reader: LogReader, topic: EventTopic, slice: readonly OffsetWindow[]): Promise<readonly OffsetWindow[]> {
  const firsts = firstsOf(await reader.bounds(topic));
  return slice.map((window) => ({ ...window, first: Math.max(window.first, firsts.get(window.partition) ?? 0) })).filter(isOpen);
}

/** Error codes for time and memory limits, in the engine and in the client. */
const TOO_MUCH = new Set([159, 160, 209, 241]);

const isTooMuch = (error: unknown): boolean =>
  isPlatformError(error) && (TOO_MUCH.has(Number(error.context['clickhouseCode'])) || error.message.includes('Timeout error'));

/** False when the log lost part of the slice meanwhile: then there are no findings. */
async function compareSlice(deps: TopicDeps, work: AuditedTopic, slice: readonly OffsetWindow[]): Promise<boolean> {
  const { reading, findings, onRecords } = deps;
  const { topic, scratch } = work;
  const { store, reader, signal } = reading;
  // Committed rows do not change, so the store can compute its side while this process replays.
  const looking = tableSides({ store, topic, slice }, signal);
  const looked = Promise.allSettled([looking]);
  let replayed: Replayed;
  try {
    replayed = await replaySlice(reading, work, { slice, onRecords });
  } finally {
    await looked;
  }
  const tables: { readonly compared: ComparedTable; readonly tallies: readonly Tally[] }[] = [];
  for (const [table, stored] of await looking) {
    const compared = { store, topic, table, slice, hashes: scratch.hashes(table) };
    tables.push({ compared, tallies: talliesOf(compared, await logSide(compared), stored) });
  }
  const differs = tables.some(({ tallies }) => !tallies.every(isEqual));
  if (differs && offsetsOf(await stillThere(reader, topic, slice)) < offsetsOf(slice)) return false;
  for (const { compared, tallies } of tables) {
    for (const tally of tallies) findings.tally(tally);
    await nameDifferences(deps, work, { compared, tallies });
  }
  findings.count(topic, replayed);
  await scratch.clear();
  return true;
}

function talliesOf({ table }: Pick<ComparedTable, 'table'>, ofLog: readonly AuditSide[], stored: readonly AuditSide[]): readonly Tally[] {
  const places = new Map([...ofLog, ...stored].map(({ topic, partition }) => [`${topic}/${partition}`, { topic, partition }]));
  const at = (sides: readonly AuditSide[], place: Pick<AuditSide, 'topic' | 'partition'>) => {
    const side = sides.find(({ topic, partition }) => topic === place.topic && partition === place.partition);
    return side === undefined ? NO_ROWS : { rows: side.rows, xored: side.xored, summed: side.summed };
  };
  return [...places.values()].map((place) => ({ ...place, table, log: at(ofLog, place), stored: at(stored, place) }));
}

async function nameDifferences(
  deps: TopicDeps,
  work: AuditedTopic,
  { compared, tallies }: { readonly compared: ComparedTable; readonly tallies: readonly Tally[] },
): Promise<void> {
  for (const tally of tallies) if (!isEqual(tally)) await nameIn(deps, work, { compared, side: tally });
}

/** Lists the differences of one partition. */
async function nameIn(
  { reading, findings }: TopicDeps,
  work: AuditedTopic,
  { compared, side }: { readonly compared: ComparedTable; readonly side: Pick<AuditSide, 'topic' | 'partition'> },
): Promise<void> {
  const { topic, partition } = side;
  const { table, store } = compared;
  const found = await partings(compared, side, findings.limit + 1);
  const changed = found.filter(({ logRows, tableRows }) => logRows > 0 && logRows === tableRows).slice(0, findings.limit);
  const offsets = changed.map(({ offset }) => offset);
  const rows = await rowsAt(reading, work, { table, partition, offsets: new Set(offsets) });
  const columns = offsets.length === 0 ? new Map() : await changedColumns(store, { topic, partition, table, offsets }, rows);
  for (const parting of found) {
    const named = (columns.get(parting.offset) ?? []) as readonly ColumnDifference[];
    findings.name({ kind: kindOf(parting), topic, partition, table, ...parting, columns: named });
  }
}

/** Rows outside every slice: in partitions that do not exist, and beyond the end of the log. */
export async function lookAside(deps: TopicDeps, work: AuditedTopic, partitions: readonly number[]): Promise<void> {
  const { store } = deps.reading;
  const { topic } = work;
  for (const table of tablesOf(topic)) {
    const compared: ComparedTable = { store, topic, table, slice: [], hashes: undefined };
    const tallies = talliesOf(compared, [], await strays(store, table, { topic, partitions }));
    for (const tally of tallies) deps.findings.stray(tally);
    await nameDifferences(deps, work, { compared, tallies });
    await lookAbove(deps, compared);
  }
}

/** Reads the end again, because the log and the sink both advance. */
async function lookAbove({ reading, findings }: TopicDeps, { topic, table, store }: ComparedTable): Promise<void> {
  const suspects = await rowsAbove({ store, topic, table }, await endsIn(reading.reader, topic), findings.limit + 1);
  if (suspects.length === 0) return;
  const ends = await endsIn(reading.reader, topic);
  for (const { partition, offset } of suspects) {
    if (offset < (ends.get(partition) ?? 0)) continue;
    findings.name({ kind: 'extra', topic, partition, offset, table, logRows: 0, tableRows: 1, columns: [] });
  }
}

/** Current end offset of each partition of the log. */
export async function endsIn(reader: LogReader, topic: EventTopic): Promise<ReadonlyMap<number, number>> {
  return endsOf(await reader.bounds(topic));
}
