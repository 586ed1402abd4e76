// Figures of two revisions in pairs: in every round, one revision is measured right after the other. On a machine whose speed changes from
// minute to minute, the ratios within pairs vary much less than the ratios between whole benchmark runs.
import { median } from '../statistics.ts';
import type { BenchComparison } from './compare.ts';

/** A figure of each revision in the same round. */
export interface FigurePair {
  readonly older: number;
  readonly newer: number;
}

export interface PairOptions {
  /** Roots of the two built revisions. */
  readonly older: string;
  readonly newer: string;
  readonly rounds: number;
  /** Flags of the bench. */
  readonly flags: string;
  readonly say: (text: string) => void;
}

/** Measures both; the older one goes first in odd rounds. */
export async function pairOf<T>(round: number, of: { readonly older: T; readonly newer: T }, measure: (one: T) => Promise<number>) {
  if (round % 2 === 1) return { older: await measure(of.older), newer: await measure(of.newer) };
  const newer = await measure(of.newer);
  return { older: await measure(of.older), newer };
}

/** `worse` is computed from the median of the ratios newer / older, one per round. */
export function pairsCompared(what: string, better: 'higher' | 'lower', pairs: readonly FigurePair[]): BenchComparison {
  const change = median(pairs.map(({ older, newer }) => newer / older)) - 1;
  return {
    what,
    old: pairs.map(({ older }) => older),
    new: pairs.map(({ newer }) => newer),
    worse: better === 'lower' ? change : -change,
  };
}
