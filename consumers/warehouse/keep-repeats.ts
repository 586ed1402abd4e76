// Keeps `repeated_rows` filled with the rows of a table that repeat an event. It goes through a table by offset, behind the sink. The rows
// are inserted before the mark that covers them, and both may be inserted again after a crash. If rows appear before a mark after all,
// their count no longer matches the mark, and the partition is checked again from its start.
import type { Row } from '../../streams/core/ports.ts';
import { inSlice, sliceParams } from './audit-compare.ts';
import { cutSlice, offsetsOf, type OffsetWindow } from './audit-slices.ts';
import { keeperSettings as settings, NOTHING_KEPT, type KeeperDeps, type Round } from './keep-step-figures.ts';
import { tableTopics } from './rows/tables.ts';

/** The column that distinguishes the events of an attempt; empty for an attempt with one event. */
const kinds = { turns: 'turn', trajectories: '', discarded_trajectories: 'sequence' } as const;

type Repeating = keyof typeof kinds;

/** Columns of repeated turns that sums take off. */
const SUMMED = [
  ...['purpose', 'policy_version_max', 'generation_ms', 'generation_queue_ms', 'generation_retry_ms'],
  ...['tool_ms', 'tool_queue_ms', 'tool_retry_ms'],
];

export const repeatingTables = Object.keys(kinds) as readonly Repeating[];

/** Offsets per round: the engine holds their attempts in memory. */
const MOST_OFFSETS = 500_000;

interface RepeatMark {
  readonly partition: number;
  readonly offset: number;
  readonly rows: number;
}

interface Stored extends OffsetWindow {
  readonly rows: number;
}

export class RepeatKeeper {
  readonly #store: KeeperDeps['store'];
  readonly #table: Repeating;
  readonly #most: number;

  /** `most`: offsets per round. */
  constructor({ store }: Pick<KeeperDeps, 'store'>, table: Repeating, most = MOST_OFFSETS) {
    this.#store = store;
    this.#table = table;
    this.#most = most;
  }

  /** Checks some offsets that no mark covers. */
  async round(): Promise<Round> {
    const windows = await this.#windows();
    const { slice } = cutSlice(windows, this.#most);
    if (slice.length === 0) return NOTHING_KEPT;
    // Counted before the search for repeats, so that a row that appears in between is noticed later.
    const counts = await this.#countTo(slice);
    await this.#add(slice, new Map(counts.map(({ partition, rows }) => [partition, rows])));
    return { kept: offsetsOf(slice), isBehind: offsetsOf(slice) < offsetsOf(windows) };
  }

  /** The offsets after the marks that still match. */
  async #windows(): Promise<readonly OffsetWindow[]> {
    const marks = await this.#store.query<RepeatMark>(
      'select partition, offset, rows from repeat_marks final where table_name = {table:String} order by partition',
      { params: { table: this.#table }, settings },
    );
    const found = await this.#countTo(marks.map(({ partition, offset }) => ({ partition, end: offset })));
    const markOf = new Map(marks.map((mark) => [mark.partition, mark]));
    return found
      .map(({ partition, first, end, rows }) => {
        const mark = markOf.get(partition);
        return { partition, first: mark !== undefined && mark.rows === rows ? Math.max(first, mark.offset) : first, end };
      })
      .filter(({ first, end }) => first < end);
  }

  /** The table's row counts before the given end of each partition: none for a partition without an end. */
  async #countTo(ends: readonly Pick<OffsetWindow, 'partition' | 'end'>[]): Promise<readonly Stored[]> {
    return this.#store.query<Stored>(
      `select _partition as partition, min(_offset) as first, max(_offset) + 1 as end,
         countIf(_offset < transform(_partition, {partitions:Array(Int32)}, {ends:Array(Int64)}, toInt64(0))) as rows
       from ${this.#table} group by partition order by partition`,
      { params: { partitions: ends.map(({ partition }) => partition), ends: ends.map(({ end }) => end) }, settings },
    );
  }

  async #add(slice: readonly OffsetWindow[], rows: ReadonlyMap<number, number>): Promise<void> {
    const table = this.#table;
    const key = ['run_id', 'trajectory_id', 'attempt', kinds[table]].filter((column) => column !== '').join(', ');
    const columns = ['_partition', '_offset', ...(table === 'turns' ? SUMMED : [])];
    const repeats = await this.#store.query(
      `select ${key}, ${columns.map((column, at) => `record.${at + 1} as ${column}`).join(', ')}
       from (
         select ${key}, arraySort(arrayDistinct(groupArray((${columns.join(', ')})))) as records from ${table}
         where (run_id, trajectory_id, attempt) in (select run_id, trajectory_id, attempt from ${table} where ${inSlice})
         group by ${key} having count() > 1
       )
       array join arrayPopFront(records) as record
       order by _partition, _offset`,
      { params: sliceParams(tableTopics[table], slice), settings },
    );
    const marks = slice.map(({ partition, end }) => ({ table_name: table, partition, offset: end, rows: rows.get(partition) ?? 0 }));
    const token = `${table}-${marks.map(({ partition, offset, rows: own }) => `${partition}:${offset}:${own}`).join(',')}`;
    if (repeats.length > 0) {
      await this.#store.insert(
        'repeated_rows',
        repeats.map((repeat): Row => ({ table_name: table, ...repeat })),
        `repeats-${token}`,
      );
    }
    await this.#store.insert('repeat_marks', marks, `repeat-marks-${token}`);
  }
}
