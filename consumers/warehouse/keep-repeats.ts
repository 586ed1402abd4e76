// Keeps `repeated_rows` filled with the rows of a table that repeat an event. It reads a table by offset, after the sink. The rows
// are inserted before the mark that covers them, and both may be inserted again after a crash. If rows appear before a mark after all,
// their count no longer matches the mark, and the partition is checked again from its start. Counting reads the whole table, so that is
// only done now and then; other rounds read only the rows after the marks, by an index.
import type { Row } from '../../streams/core/ports.ts';
import { behindMarks, type TableMark } from '../common/behind-marks.ts';
import { inSlice, sliceParams } from './audit-compare.ts';
import { cutSlice, offsetsOf, type OffsetWindow } from './audit-slices.ts';
import { keeperSettings as settings, NOTHING_KEPT, type KeeperDeps, type Round } from './keep-step-figures.ts';
import { tableTopics } from './rows/tables.ts';

/** The column that distinguishes the events of an attempt; empty for an attempt with one event. */
const kinds = { turns: 'turn', trajectories: '', discarded_trajectories: 'sequence' } as const;

type Repeating = keyof typeof kinds;

/** Columns of repeated turns that are subtracted from sums. */
const SUMMED = [
  ...['purpose', 'policy_version_max', 'generation_ms', 'generation_queue_ms', 'generation_retry_ms'],
  ...['tool_ms', 'tool_queue_ms', 'tool_retry_ms'],
];

export const repeatingTables = Object.keys(kinds) as readonly Repeating[];

/** Offsets per round: the engine holds their attempts in memory. */
const MOST_OFFSETS = 500_000;

/** Rounds between two counts of the rows before the marks: five minutes when nothing is behind. */
const ROUNDS_PER_COUNT = 15;

interface RepeatMark extends TableMark {
  /** Rows before the offset. */
  readonly rows: number;
}

type PartitionRows = Pick<RepeatMark, 'partition' | 'rows'>;

export class RepeatKeeper {
  readonly #store: KeeperDeps['store'];
  readonly #table: Repeating;
  readonly #most: number;
  /** How far each partition has been checked. */
  #marks = new Map<number, RepeatMark>();
  #roundsUntilCount = 0;

  /** `most`: offsets per round. */
  constructor({ store }: Pick<KeeperDeps, 'store'>, table: Repeating, most = MOST_OFFSETS) {
    this.#store = store;
    this.#table = table;
    this.#most = most;
  }

  /** Checks some offsets that no mark covers. */
  async round(): Promise<Round> {
    if (this.#roundsUntilCount === 0) {
      this.#marks = await this.#matchingMarks();
      this.#roundsUntilCount = ROUNDS_PER_COUNT;
    }
    const windows = await this.#windows();
    const { slice } = cutSlice(windows, this.#most);
    const isBehind = offsetsOf(slice) < offsetsOf(windows);
    // a stored mark that no longer matches stays until it is reached again, so nothing is counted on the way there
    if (!isBehind) this.#roundsUntilCount -= 1;
    if (slice.length === 0) return NOTHING_KEPT;
    await this.#add(slice, await this.#marksAfter(slice));
    return { kept: offsetsOf(slice), isBehind };
  }

  /** The stored marks that still match the number of rows before them. */
  async #matchingMarks(): Promise<Map<number, RepeatMark>> {
    const marks = await this.#store.query<RepeatMark>(
      'select partition, offset, rows from repeat_marks final where table_name = {table:String} order by partition',
      { params: { table: this.#table }, settings },
    );
    const partitions = marks.map(({ partition }) => partition);
    const counts = await this.#store.query<PartitionRows>(
      `select _partition as partition, count() as rows from ${this.#table}
       where _offset < transform(_partition, {partitions:Array(Int32)}, {offsets:Array(Int64)}, toInt64(0)) group by partition`,
      { params: { partitions, offsets: marks.map(({ offset }) => offset) }, settings },
    );
    const found = new Map(counts.map(({ partition, rows }) => [partition, rows]));
    return new Map(marks.filter(({ partition, rows }) => found.get(partition) === rows).map((mark) => [mark.partition, mark]));
  }

  /** The offsets after the marks. */
  async #windows(): Promise<readonly OffsetWindow[]> {
    const unmarked = behindMarks([...this.#marks.values()]);
    const found = await this.#store.query<OffsetWindow>(
      `select _partition as partition, min(_offset) as first, max(_offset) + 1 as end from ${this.#table}
       where ${unmarked.sql} group by partition order by partition`,
      { params: unmarked.params, settings },
    );
    return found
      .map(({ partition, first, end }) => ({ partition, first: Math.max(first, this.#marks.get(partition)?.offset ?? 0), end }))
      .filter(({ first, end }) => first < end);
  }

  /** Counted before the search for repeats, so that a row that appears in between is noticed later. */
  async #marksAfter(slice: readonly OffsetWindow[]): Promise<readonly RepeatMark[]> {
    const counts = await this.#store.query<PartitionRows>(
      `select _partition as partition, count() as rows from ${this.#table} where ${inSlice} group by partition`,
      { params: sliceParams(tableTopics[this.#table], slice), settings },
    );
    const added = new Map(counts.map(({ partition, rows }) => [partition, rows]));
    return slice.map(({ partition, end }) => ({
      ...{ partition, offset: end },
      rows: (this.#marks.get(partition)?.rows ?? 0) + (added.get(partition) ?? 0),
    }));
  }

  async #add(slice: readonly OffsetWindow[], marks: readonly RepeatMark[]): Promise<void> {
    const table = this.#table;
    const key = ['run_id', 'trajectory_id', 'attempt', kinds[table]].filter((column) => column !== '').join(', ');
    const columns = ['_partition', '_offset', ...(table === 'turns' ? SUMMED : [])];
    // few attempts have repeats, and only their rows are read with all columns
    const repeats = await this.#store.query(
      `select ${key}, ${columns.map((column, at) => `record.${at + 1} as ${column}`).join(', ')}
       from (
         select ${key}, arraySort(arrayDistinct(groupArray((${columns.join(', ')})))) as records from ${table}
         where (run_id, trajectory_id, attempt) in (
           select run_id, trajectory_id, attempt from ${table}
           where (run_id, trajectory_id, attempt) in (select run_id, trajectory_id, attempt from ${table} where ${inSlice})
           group by run_id, trajectory_id, attempt having count() > ${kinds[table] === '' ? '1' : `uniqExact(${kinds[table]})`}
         )
         group by ${key} having count() > 1
       )
       array join arrayPopFront(records) as record
       order by _partition, _offset`,
      { params: sliceParams(tableTopics[table], slice), settings },
    );
    const token = `${table}-${marks.map(({ partition, offset, rows: own }) => `${partition}:${offset}:${own}`).join(',')}`;
    if (repeats.length > 0) {
      await this.#store.insert(
        'repeated_rows',
        repeats.map((repeat): Row => ({ table_name: table, ...repeat })),
        `repeats-${token}`,
      );
    }
    await this.#store.insert(
      'repeat_marks',
      marks.map((mark): Row => ({ table_name: table, ...mark })),
      `repeat-marks-${token}`,
    );
    for (const mark of marks) this.#marks.set(mark.partition, mark);
  }
}
