// `turnstream export`: rows of a run in slices, each one query; one is written while the store reads the next. So memory holds at most two
// slices, however large the run is. Rows that are stored meanwhile are left out; the same data give the same rows in the same order.
import { createParquetJoin } from '../../../consumers/exports/parquet.ts';
import {
  conditionTable,
  endsStatement,
  FIRST,
  rowsStatement,
  unitsStatement,
  type ChatForm,
  type ExportKind,
  type Key,
  type ExportSelection,
  type ExportUnit,
} from '../../../consumers/exports/shapes.ts';
import { cutSlices, halvesOf, sliceParams, type Slice } from '../../../consumers/exports/slices.ts';
import { exportRows } from './export-rows.ts';
import { judgeCondition } from '../../../consumers/api/sql/condition.ts';
import { userErrorOf } from '../../../consumers/api/sql/limits.ts';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger, Store } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { withStore } from '../../app/open/with-store.ts';

export const exportFormats = ['parquet', 'jsonl', 'arrow'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly run: string;
  readonly kind: ExportKind;
  readonly format: ExportFormat;
  /** The condition of the user, not checked yet. */
  readonly where?: string;
  /** Maximum number of rows. */
  readonly limit?: number;
  /** How `sft` and `preferences` represent tool calls. */
  readonly chat: ChatForm;
  /** `sft` takes only trajectories with a higher reward. */
  readonly minReward: number;
  readonly signal: AbortSignal;
  /** Takes the bytes of the export; resolves when it accepts more. */
  readonly out: (bytes: Buffer) => Promise<void>;
  readonly onProgress: (progress: { readonly rows: number; readonly bytes: number }) => void;
}

export interface ExportReport {
  readonly rows: number;
  readonly bytes: number;
  /** Trajectories or groups that were left out because some of their turns are missing. */
  readonly leftOut: number;
  readonly seconds: number;
}

/** Units per query. */
const UNITS = 20_000;
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
/** Approximate size of a slice, which is one row group in Parquet. */
const SLICE = { rows: 20_000, bytes: 24_000_000 } as const;
/** A slice with a larger result is halved, unless it is a single unit. */
const RESULT_BYTES = 96_000_000;
const ONE_UNIT_BYTES = 2_000_000_000;
const SLICE_SECONDS = 600;

/** Throws NOT_FOUND when the tables have nothing of the run, SQL_REFUSED or SQL_INVALID for a condition that is not allowed or invalid. */
export function runExport(options: ExportOptions): Promise<ExportReport> {
  return withStore({ config: options.config, logger: options.logger, purpose: 'export' }, async (store) => {
    const began = performance.now();
    const condition = options.where === undefined ? undefined : await judgeCondition(store, options.where);
    const ends = await store.query<{ partition: number; end: number }>(endsStatement, {
      params: { run: options.run },
      signal: options.signal,
    });
    if (ends.length === 0) throw new PlatformError('NOT_FOUND', `exporting run ${options.run}: the tables have no rows of it`);
    const { kind, chat } = options;
    try {
      const done =
        kind === 'rows'
          ? await rowsOf({ ...options, store, ends }, condition)
          : await new Export({ ...options, store, ends, selection: { kind, condition, chat } }).run();
      return { ...done, seconds: (performance.now() - began) / 1_000 };
    } catch (error) {
      throw options.signal.aborted ? options.signal.reason : told(error, options);
    }
  });
}

/** Adds to ClickHouse's error about a condition which table the condition is about. */
function told(error: unknown, { kind, where }: ExportOptions): unknown {
  const known = userErrorOf(error);
  if (where === undefined || !isPlatformError(known, 'SQL_INVALID')) return known;
  const said = known.message.replace(/ in scope SELECT .*$/s, '');
  const message = `exporting ${kind}: --where is a condition over the columns of ${conditionTable(kind)}. ${said}`;
  return new PlatformError('SQL_INVALID', message, { cause: error });
}

interface OpenExport extends ExportOptions {
  readonly store: Store;
  readonly ends: readonly { readonly partition: number; readonly end: number }[];
}

interface ExportJob extends OpenExport {
  readonly selection: ExportSelection;
}

const paramsOf = ({ run, ends, minReward }: OpenExport): Readonly<Record<string, unknown>> => ({
  run,
  partitions: ends.map(({ partition }) => partition),
  ends: ends.map(({ end }) => end),
  min_reward: minReward,
});

/** Rows of tokens. */
async function rowsOf(work: OpenExport, condition: string | undefined): Promise<Omit<ExportReport, 'seconds'>> {
  const { store, signal, format, limit, out, onProgress } = work;
  let bytes = 0;
  const { rows, leftOut } = await exportRows({
    ...{ store, signal, condition, limit: limit ?? NO_LIMIT, params: paramsOf(work), settings: settingsOf(work.config) },
    format: format === 'arrow' ? 'arrow' : 'ndjson',
    async send(part, rowsSoFar) {
      signal.throwIfAborted();
      await out(part);
      bytes += part.length;
      onProgress({ rows: rowsSoFar, bytes });
    },
  });
  return { rows, bytes, leftOut };
}

class Export {
  readonly #work: ExportJob;
  readonly #params: Readonly<Record<string, unknown>>;
  readonly #settings: Readonly<Record<string, string | number>>;
  readonly #parquet = createParquetJoin();
  #rows = 0;
  #bytes = 0;
  #leftOut = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(work: ExportJob) {
    this.#work = work;
    this.#params = paramsOf(work);
    this.#settings = settingsOf(work.config);
  }

  async run(): Promise<Omit<ExportReport, 'seconds'>> {
    let after: Key = FIRST;
    let slices = 0;
    for (let more = true; more && this.#left > 0;) {
      const wanted = Math.min(UNITS, this.#left);
      const found = await this.#units(after, wanted);
      more = found.length === wanted;
      for (const slice of cutSlices(after, found, SLICE)) {
        if (this.#left === 0) break;
        await this.#write(slice);
        slices += 1;
      }
      after = found.at(-1) ?? after;
    }
    // A file of Parquet without rows still has columns.
    if (this.#work.format === 'parquet') {
      if (slices === 0) await this.#emit(await this.#read({ after, units: [] }, RESULT_BYTES));
      await this.#send(this.#parquet.end());
    }
    await this.#writing;
    const keepsAll = this.#work.kind === 'turns' || this.#work.kind === 'trajectories';
    return { rows: this.#rows, bytes: this.#bytes, leftOut: keepsAll ? 0 : this.#leftOut };
  }

  /** Rows that may still be written. */
  get #left(): number {
    return (this.#work.limit ?? NO_LIMIT) - this.#rows;
  }

  /** The next units, at most `units`: each has a row, or is left out. */
  #units(after: Key, units: number): Promise<readonly ExportUnit[]> {
    const { store, selection, signal } = this.#work;
    const { id, attempt, block } = after;
    const params = { ...this.#params, id, attempt, block, units };
    return store.query<ExportUnit>(unitsStatement(selection), { params, signal, settings: this.#settings });
  }

  /** Reads a slice as a whole before any of it is written, so that one that is too large can be read in halves. */
  async #write(slice: Slice): Promise<void> {
    const halves = halvesOf(slice);
    let bytes: Buffer;
    try {
      bytes = await this.#read(slice, halves === undefined ? ONE_UNIT_BYTES : RESULT_BYTES);
    } catch (error) {
      if (halves === undefined || !isTooLarge(error)) throw error;
      for (const half of halves) if (this.#left > 0) await this.#write(half);
      return;
    }
    const before = this.#rows;
    await this.#emit(bytes);
    // Where the limit ends a slice, the rows after it have not been read.
    if (this.#left > 0) this.#leftOut += slice.units.reduce((sum, { rows }) => sum + rows, 0) - (this.#rows - before);
  }

  async #read(slice: Slice, maxBytes: number): Promise<Buffer> {
    const { store, selection, signal, format } = this.#work;
    const stream = await store.stream(rowsStatement(selection), {
      signal,
      params: { ...this.#params, ...sliceParams(slice), rows: this.#left },
      settings: { ...this.#settings, wait_end_of_query: 1, max_result_bytes: maxBytes },
      format: format === 'parquet' ? 'Parquet' : 'JSONEachRow',
    });
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part);
    return Buffer.concat(parts);
  }

  async #emit(read: Buffer): Promise<void> {
    if (this.#work.format === 'parquet') {
      await this.#send(this.#parquet.add(read));
      this.#rows = this.#parquet.rows;
    } else {
      for (let at = read.indexOf(LINE_END); at >= 0; at = read.indexOf(LINE_END, at + 1)) this.#rows += 1;
      await this.#send(read);
    }
    this.#work.onProgress({ rows: this.#rows, bytes: this.#bytes });
  }

  /** Resolves when the previous write has ended: this one may continue while more is read. */
  async #send(bytes: Buffer): Promise<void> {
    await this.#writing;
    this.#work.signal.throwIfAborted();
    if (bytes.length === 0) return;
    this.#bytes += bytes.length;
    this.#writing = this.#work.out(bytes);
    // a failure is thrown by the next wait for it
    this.#writing.catch(() => undefined);
  }
}

const LINE_END = 10;

const settingsOf = (config: Config) => ({
  readonly: 1,
  priority: 10,
  max_threads: 1,
  max_execution_time: SLICE_SECONDS,
  max_memory_usage: config.sqlMaxMemoryMb * 1_000_000,
  result_overflow_mode: 'throw',
  date_time_output_format: 'iso',
  output_format_json_quote_64bit_integers: 0,
  output_format_json_escape_forward_slashes: 0,
  output_format_json_named_tuples_as_objects: 1,
  output_format_parquet_string_as_string: 1,
  output_format_parquet_compression_method: 'zstd',
});

/** TOO_MANY_ROWS_OR_BYTES and MEMORY_LIMIT_EXCEEDED. */
const TOO_LARGE = new Set([396, 241]);

const isTooLarge = (error: unknown): boolean => isPlatformError(error) && TOO_LARGE.has(Number(error.context['clickhouseCode']));
