// Distributions of reward, advantage, turns, tokens, and staleness over the trained and the discarded trajectories of a range of steps.
import type { Store } from '../../../streams/core/ports.ts';
import { countedFigures, readOutcomesOfRange, type CountedFigure, type CountsOfFigure } from './outcomes.fold.ts';

export const histogramFigures = countedFigures;

const fractions: ReadonlySet<CountedFigure> = new Set(['reward', 'advantage']);

export interface HistogramRange {
  readonly from_step: number;
  readonly to_step: number;
  readonly bins: number;
  readonly of: readonly CountedFigure[];
}

export interface FateCounts {
  /** Empty for trained ones. */
  readonly reason: string;
  readonly counts: readonly number[];
}

export interface OutcomeHistogram {
  readonly figure: CountedFigure;
  /** Lower bound of the first bin. */
  readonly low: number;
  readonly width: number;
  readonly fates: readonly FateCounts[];
}

/** Bins of equal width. For integers the width is an integer, so that each bin covers the same number of values. */
export function binsFor(figure: CountedFigure, { low, high }: { readonly low: number; readonly high: number }, bins: number) {
  if (!fractions.has(figure)) {
    const width = Math.ceil((high - low + 1) / bins);
    return { width, count: Math.ceil((high - low + 1) / width) };
  }
  return high > low ? { width: (high - low) / bins, count: bins } : { width: 1, count: 1 };
}

export interface FigureRange {
  readonly figure: CountedFigure;
  readonly low: number;
  readonly high: number;
}

/** Lowest and highest value of a figure; undefined if it has none. */
function boundsOf(figure: CountedFigure, counts: readonly CountsOfFigure[]): FigureRange | undefined {
  let [low, high] = [Infinity, -Infinity];
  for (const { values } of counts) {
    for (const value of values) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low > high ? undefined : { figure, low, high };
}

function histogramOf({ figure, low, high }: FigureRange, counts: readonly CountsOfFigure[], bins: number): OutcomeHistogram {
  const { width, count } = binsFor(figure, { low, high }, bins);
  const fates = new Map<string, number[]>();
  for (const { reason, values, counts: numbers } of counts) {
    const filled = fates.get(reason) ?? new Array<number>(count).fill(0);
    fates.set(reason, filled);
    values.forEach((value, at) => {
      const bin = Math.min(count - 1, Math.floor((value - low) / width));
      filled[bin] = (filled[bin] ?? 0) + (numbers[at] ?? 0);
    });
  }
  // trained ones first, then the discard reasons in order
  const reasons = [...fates.keys()].sort();
  return { figure, low, width, fates: reasons.map((reason) => ({ reason, counts: fates.get(reason) ?? [] })) };
}

export async function readHistograms(
  store: Store,
  run: string,
  { of, bins, from_step: first, to_step: last }: HistogramRange,
): Promise<readonly OutcomeHistogram[]> {
  const { parts } = await readOutcomesOfRange(store, run, { first, last });
  return of.flatMap((figure) => {
    const counts = parts.flatMap((part) => part.counts.filter((one) => one.figure === figure));
    const range = boundsOf(figure, counts);
    return range === undefined ? [] : [histogramOf(range, counts, bins)];
  });
}
