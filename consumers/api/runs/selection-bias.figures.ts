// Keeps the figures of ranges up to date. Outcomes are only ever added, and to the newest steps, so the counts of older steps are kept and
// only the newest steps are read again: a new outcome costs the same however long the run is.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { createMemo, type Memo } from '../memo.ts';
import { countsSql, rangeSql, sumsSql } from './selection-bias.sql.ts';
import { BiasTally, type OutcomeSums, type RangeFigures, type ValueCount } from './selection-bias.tally.ts';

/** A range of the outcomes of a run; the conditions are also those of other routes. */
export interface OutcomeRange {
  readonly run: string;
  readonly where: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Steps that are read again for each new outcome: at least the first number, at most the second. */
const [FEWEST_OPEN, MOST_OPEN] = [64, 192];
/** Each holds one count for each distinct value. */
const MOST_RANGES = 16;

/** Before every step. */
const START = -(2 ** 31);

interface RangeState {
  readonly newest: number;
  /** Stored outcomes of the steps before a given one. */
  readonly sealed: number;
  readonly total: number;
}

interface ReadOutcomes {
  readonly counts: readonly (ValueCount & { readonly is_sealed: boolean })[];
  readonly sums: readonly (OutcomeSums & { readonly is_sealed: boolean })[];
}

const isSealed = (row: { readonly is_sealed: boolean }): boolean => row.is_sealed;

class RangeFold {
  readonly #store: Store;
  readonly #range: OutcomeRange;
  #tally = new BiasTally();
  /** The tally has the outcomes of the steps before this one. */
  #before = START;
  #sealed = 0;
  #last: { readonly total: number; readonly figures: RangeFigures } | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(store: Store, range: OutcomeRange) {
    this.#store = store;
    this.#range = range;
  }

  /** Concurrent callers are served one after the other. */
  figures(): Promise<RangeFigures> {
    const made = this.#turn.then(() => this.#update());
    this.#turn = made.catch(() => undefined);
    return made;
  }

  async #update(): Promise<RangeFigures> {
    const state = await this.#state(this.#before);
    if (state.sealed !== this.#sealed) return this.#startAgain();
    if (this.#last?.total === state.total) return this.#last.figures;
    const before = state.newest - this.#before > MOST_OPEN ? state.newest - FEWEST_OPEN : this.#before;
    // counted before it is read: an outcome that comes between is counted as one too many next time, and all is read again
    const { sealed } = before === this.#before ? state : await this.#state(before);
    const { counts, sums } = await this.#read(before);
    const figures = this.#tally.figuresWith(counts, sums);
    this.#tally.add(counts.filter(isSealed), sums.filter(isSealed));
    this.#before = before;
    this.#sealed = sealed;
    this.#last = { total: state.total, figures };
    return figures;
  }

  /** Older outcomes were added or deleted. */
  #startAgain(): Promise<RangeFigures> {
    this.#tally = new BiasTally();
    this.#before = START;
    this.#sealed = 0;
    this.#last = undefined;
    return this.#update();
  }

  async #state(before: number): Promise<RangeState> {
    const { run, where, params } = this.#range;
    const [state] = await readRows<RangeState>(this.#store, rangeSql(where), { ...params, run, before });
    return state ?? { newest: 0, sealed: 0, total: 0 };
  }

  async #read(before: number): Promise<ReadOutcomes> {
    const { where, params } = this.#range;
    const bound = { ...params, from: this.#before, before };
    const [counts, sums] = await Promise.all([
      readRows<ReadOutcomes['counts'][number]>(this.#store, countsSql(where), bound),
      readRows<ReadOutcomes['sums'][number]>(this.#store, sumsSql(where), bound),
    ]);
    return { counts, sums };
  }
}

const folds = new WeakMap<Store, Memo<RangeFold>>();

/** Exact figures of a whole range. */
export async function readRangeFigures(store: Store, range: OutcomeRange): Promise<RangeFigures> {
  const memo = folds.get(store) ?? createMemo<RangeFold>(MOST_RANGES);
  folds.set(store, memo);
  const fold = await memo(JSON.stringify(range), '', () => Promise.resolve(new RangeFold(store, range)));
  return fold.figures();
}
