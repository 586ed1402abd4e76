// Bars of a histogram: what was trained on, and what was discarded for any reason. Does not use the DOM, so it can be unit-tested.

export interface ApiHistogram {
  readonly figure: string;
  readonly low: number;
  readonly width: number;
  readonly fates: readonly { readonly reason: string; readonly counts: readonly number[] }[];
}

interface HistogramStacks {
  readonly bins: number;
  readonly kept: readonly number[];
  readonly discarded: readonly number[];
  /** Height of the tallest bar. */
  readonly most: number;
  readonly total: { readonly kept: number; readonly discarded: number };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export function stacksOf({ fates }: ApiHistogram): HistogramStacks {
  const bins = Math.max(1, ...fates.map(({ counts }) => counts.length));
  const over = (of: ApiHistogram['fates']): readonly number[] =>
    Array.from({ length: bins }, (_, at) => sum(of.map(({ counts }) => counts[at] ?? 0)));
  const kept = over(fates.filter(({ reason }) => reason === ''));
  const discarded = over(fates.filter(({ reason }) => reason !== ''));
  const most = Math.max(1, ...kept.map((value, at) => value + (discarded[at] ?? 0)));
  return { bins, kept, discarded, most, total: { kept: sum(kept), discarded: sum(discarded) } };
}
