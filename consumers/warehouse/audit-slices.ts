// An audit processes the log slice by slice: a range of every partition, all of about the same age. Rows of the same time are adjacent in
// the tables, so a slice reads few granules, and no query of an audit grows with the log.
import { createRandom } from '../../streams/core/random.ts';

/** Offsets of a partition that both sides must have: from `first` up to, but not including, `end`. */
export interface OffsetWindow {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
}

/** A random but reproducible part of the log to compare. */
export interface AuditSample {
  /** Greater than 0, at most 1. */
  readonly share: number;
  readonly seed: number;
}

/** Total number of offsets in all windows. */
export const offsetsOf = (windows: readonly OffsetWindow[]): number =>
  windows.reduce((sum, { first, end }) => sum + Math.max(0, end - first), 0);

export const endsOf = (windows: readonly OffsetWindow[]): ReadonlyMap<number, number> =>
  new Map(windows.map(({ partition, end }) => [partition, end]));

export const firstsOf = (windows: readonly OffsetWindow[]): ReadonlyMap<number, number> =>
  new Map(windows.map(({ partition, first }) => [partition, first]));

/** About the next `size` offsets, taken from every partition in proportion to what is left of it, and the rest. */
export function cutSlice(
  windows: readonly OffsetWindow[],
  size: number,
): { readonly slice: readonly OffsetWindow[]; readonly rest: readonly OffsetWindow[] } {
  const share = Math.min(1, size / Math.max(1, offsetsOf(windows)));
  const slice = windows.map((window) => ({
    ...window,
    end: Math.max(window.first, window.first + Math.ceil((window.end - window.first) * share)),
  }));
  const rest = windows.map((window, at) => ({ ...window, first: slice[at]?.end ?? window.end }));
  return { slice: slice.filter(isOpen), rest: rest.filter(isOpen) };
}

export const isOpen = ({ first, end }: OffsetWindow): boolean => first < end;

/** Yields all slices of the windows; `sizeOf` is called for the size of each. */
export function* slicesOf(windows: readonly OffsetWindow[], sizeOf: () => number): Generator<readonly OffsetWindow[]> {
  let rest: readonly OffsetWindow[] = windows.filter(isOpen);
  while (rest.length > 0) {
    const cut = cutSlice(rest, sizeOf());
    yield cut.slice;
    rest = cut.rest;
  }
}

const SLICES_OF_SAMPLE = 16;
/** Minimum offsets for another slice of a sample: a slice costs some statements for each table, whatever its size. */
const WORTH_A_SLICE = 1_000;
const [LEAST, MOST] = [20, 20_000];

/** Slices of equal size, one drawn from every `1 / share` consecutive ones; at least one. */
export function* sampledSlices(windows: readonly OffsetWindow[], { share, seed }: AuditSample): Generator<readonly OffsetWindow[]> {
  const total = offsetsOf(windows);
  const places = Math.min(SLICES_OF_SAMPLE, Math.max(1, Math.floor((total * share) / WORTH_A_SLICE)));
  const size = Math.min(MOST, Math.max(LEAST, Math.ceil((total * share) / places)));
  const slices = [...slicesOf(windows, () => size)];
  const stratum = Math.max(1, Math.round(1 / share));
  const random = createRandom(seed);
  for (let at = 0; at < slices.length; at += stratum) {
    const drawn = slices[at + Math.floor(random() * Math.min(stratum, slices.length - at))];
    if (drawn !== undefined) yield drawn;
  }
}

const TARGET_MS = 8_000;
const [FIRST_SIZE, SMALLEST, LARGEST] = [20_000, 1_000, 250_000];

/** Adapts the slice size, so that a slice takes some seconds whatever the size of its records and the load of the machine. */
export class Pace {
  readonly #fixed: number | undefined;
  #size = FIRST_SIZE;

  constructor(fixed?: number) {
    this.#fixed = fixed;
  }

  get size(): number {
    return this.#fixed ?? this.#size;
  }

  /** Reports how long a slice of `size` took. */
  took(ms: number): void {
    const factor = Math.min(2, Math.max(0.25, TARGET_MS / Math.max(1, ms)));
    this.#size = Math.round(Math.min(LARGEST, Math.max(SMALLEST, this.#size * factor)));
  }

  /** Reports that a query exceeded its limit. */
  tooLarge(): void {
    this.#size = Math.max(SMALLEST, Math.floor(this.#size / 4));
  }
}
