// An audit goes through the log slice by slice: a stretch of every partition, all of about the same age. Rows of one time lie
// together in the tables, so a slice reads few of their granules, and no query of an audit grows with the log.
import { createRandom } from '../../streams/core/random.ts';

/** Offsets of a partition that both sides must have: `first` up to, but not including, `end`. */
export interface Window {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
}

/** Part of a log that is compared, chosen at random but repeatable. */
export interface Sample {
  /** Above 0, up to 1. */
  readonly share: number;
  readonly seed: number;
}

/** Offsets of all windows together. */
export const offsetsOf = (windows: readonly Window[]): number => windows.reduce((sum, { first, end }) => sum + Math.max(0, end - first), 0);

export const endsOf = (windows: readonly Window[]): ReadonlyMap<number, number> =>
  new Map(windows.map(({ partition, end }) => [partition, end]));

export const firstsOf = (windows: readonly Window[]): ReadonlyMap<number, number> =>
  new Map(windows.map(({ partition, first }) => [partition, first]));

/** The next `size` offsets or so, of every partition in proportion to what is left of it, and what comes after them. */
export function cutSlice(
  windows: readonly Window[],
  size: number,
): { readonly slice: readonly Window[]; readonly rest: readonly Window[] } {
  const share = Math.min(1, size / Math.max(1, offsetsOf(windows)));
  const slice = windows.map((window) => ({
    ...window,
    end: Math.max(window.first, window.first + Math.ceil((window.end - window.first) * share)),
  }));
  const rest = windows.map((window, at) => ({ ...window, first: slice[at]?.end ?? window.end }));
  return { slice: slice.filter(isOpen), rest: rest.filter(isOpen) };
}

export const isOpen = ({ first, end }: Window): boolean => first < end;

/** Every slice of the windows; one that was taken may be asked for again in smaller ones. */
export function* slicesOf(windows: readonly Window[], sizeOf: () => number): Generator<readonly Window[]> {
  let rest: readonly Window[] = windows.filter(isOpen);
  while (rest.length > 0) {
    const cut = cutSlice(rest, sizeOf());
    yield cut.slice;
    rest = cut.rest;
  }
}

const SLICES_OF_SAMPLE = 16;
const [LEAST, MOST] = [20, 20_000];

/** Slices of equal size, one drawn out of every `1 / share` that follow each other; one at least. */
export function* sampledSlices(windows: readonly Window[], { share, seed }: Sample): Generator<readonly Window[]> {
  const total = offsetsOf(windows);
  const size = Math.min(MOST, Math.max(LEAST, Math.ceil((total * share) / SLICES_OF_SAMPLE)));
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

/** How large slices are: as many records as take some seconds, whatever a record weighs and whoever else needs the machine. */
export class Pace {
  readonly #fixed: number | undefined;
  #size = FIRST_SIZE;

  constructor(fixed?: number) {
    this.#fixed = fixed;
  }

  get size(): number {
    return this.#fixed ?? this.#size;
  }

  /** A slice of `size` took so long. */
  took(ms: number): void {
    const factor = Math.min(2, Math.max(0.25, TARGET_MS / Math.max(1, ms)));
    this.#size = Math.round(Math.min(LARGEST, Math.max(SMALLEST, this.#size * factor)));
  }

  /** A query reached its limit. */
  tooLarge(): void {
    this.#size = Math.max(SMALLEST, Math.floor(this.#size / 4));
  }
}
