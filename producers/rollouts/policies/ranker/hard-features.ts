// Queries and features for hard questions (ParsedQuestion.isHard). For other questions there are none.
import type { FeatureName, FeatureValues } from './features.ts';
import type { ParsedQuestion, PlaceStatement } from './question.ts';
import type { SearchState } from './state.ts';

export interface CandidateQuery {
  readonly text: string;
  readonly kind: FeatureName;
  readonly more?: FeatureValues;
}

const NAMES = 3;
const BASES = 2;
/** Maximum number of figures between two bounds to search for. */
const FIGURES = 10;

/** The first group of digits, as searched for: 93 for 93,600. */
const leading = (value: number): number => (value >= 1_000 ? leading(value / 1_000) : Math.floor(value));

/** The label and the figures between the bounds. */
function boundsQuery({ vague, labelWords }: PlaceStatement): readonly CandidateQuery[] {
  if (vague === undefined || 'initial' in vague) return [];
  const [low, high] = [leading(vague.low), leading(vague.high)];
  if (high < low || high - low >= FIGURES) return [];
  const figures = Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const middle = high === low && vague.high < 1_000 ? [((vague.low + vague.high) / 2).toFixed(2)] : [];
  return [{ text: [...labelWords, ...figures, ...middle].join(' '), kind: 'query_bounds' }];
}

const wantOf = (want: number, { bestSought }: { readonly bestSought: number }): FeatureValues => ({
  query_want: want,
  query_is_most_wanted: Number(want > 0 && want >= bestSought),
});

/** Queries for names without a known address, for places whose own page names the previous one, and for figures within bounds. */
export function hardQueries({ places }: ParsedQuestion, { plan }: SearchState): readonly CandidateQuery[] {
  if (plan === undefined) return [];
  return [
    ...plan.names.slice(0, NAMES).map(({ name, want }) => ({ text: name, kind: 'query_name' as const, more: wantOf(want, plan) })),
    ...plan.bases.slice(0, BASES).map(({ from, at, want }) => ({
      text: `${from.leads[at]?.label ?? ''} ${from.title}`,
      kind: 'query_relation' as const,
      more: wantOf(want, plan),
    })),
    ...(places.at(-1)?.told ?? []).flatMap(boundsQuery),
  ];
}

/** Features of every action. */
export const hardShared = ({ plan }: SearchState): FeatureValues =>
  plan === undefined ? {} : { hard_found: plan.bestFound, hard_sought: plan.bestSought };

export const searchFeatures = ({ plan }: SearchState): FeatureValues =>
  plan === undefined ? {} : { hard_search_found: plan.bestFound, hard_search_sought: plan.bestSought };

/** Features of opening an address. */
export function accessFeatures({ plan }: SearchState, url: string, kind: FeatureName): FeatureValues {
  if (plan === undefined) return {};
  const { fit = 0, want = 0 } = plan.sought(url) ?? {};
  return {
    [kind]: 1,
    hard_access_found: plan.bestFound,
    access_fit: fit,
    access_want: want,
    access_is_most_wanted: Number(want > 0 && want >= plan.bestSought),
    access_fits_nothing: Number(want === 0),
  };
}

/** Features of answering from a page. */
export function answerFeatures({ plan }: SearchState, url: string, isBest: boolean): FeatureValues {
  if (plan === undefined) return {};
  const found = plan.found(url);
  const isMost = found > 0 && found >= plan.bestFound;
  return {
    hard_answer_sought: plan.bestSought,
    answer_found: found,
    answer_is_most_found: Number(isMost),
    answer_best_on_found: isBest ? found : 0,
  };
}

/** The most wanted first, otherwise in their order. */
export function mostWanted<T>({ plan }: SearchState, all: readonly T[], urlOf: (one: T) => string): readonly T[] {
  if (plan === undefined) return all;
  const wants = all.map((one) => ({ one, want: plan.sought(urlOf(one))?.want ?? 0 }));
  return wants.sort((a, b) => b.want - a.want).map(({ one }) => one);
}
