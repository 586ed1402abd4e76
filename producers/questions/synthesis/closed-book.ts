// Answers without tools: a single BM25 search over the profiles with only the words of the question. Each answer uses a random subset of
// the words, to imitate how a model's answers vary; the same random numbers give the same answers.
import { factbookProfiles } from '../../factbook/profiles.ts';
import type { Profile } from '../../factbook/profiles.ts';

const K1 = 1.2;
const B = 0.75;
const KEPT = 0.7;
const word = /[\p{L}\p{N}]+/gu;

interface TermIndex {
  /** By term: its weight in every profile that contains it. */
  readonly weights: ReadonlyMap<string, readonly (readonly [profile: number, weight: number])[]>;
  readonly count: number;
}

let index: TermIndex | undefined;

const termsOf = (text: string): string[] => text.toLowerCase().match(word) ?? [];

function build(profiles: readonly Profile[]): TermIndex {
  const counts = new Map<string, Map<number, number>>();
  const lengths = profiles.map((profile, at) => {
    const terms = termsOf(`${profile.title} ${profile.fields.map(({ label, text }) => `${label} ${text}`).join(' ')}`);
    for (const term of terms) {
      const holders = counts.get(term) ?? new Map<number, number>();
      holders.set(at, (holders.get(at) ?? 0) + 1);
      counts.set(term, holders);
    }
    return terms.length;
  });
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const weights = new Map(
    [...counts].map(([term, holders]) => {
      const idf = Math.log(1 + (profiles.length - holders.size + 0.5) / (holders.size + 0.5));
      const weigh = (count: number, at: number): number =>
        (idf * count * (K1 + 1)) / (count + K1 * (1 - B + (B * (lengths[at] ?? 0)) / mean));
      return [term, [...holders].map(([at, count]) => [at, weigh(count, at)] as const)] as const;
    }),
  );
  return { weights, count: profiles.length };
}

/** The profile that matches the terms best; none when nothing matches. */
function bestFor(terms: readonly string[], { weights, count }: TermIndex): number {
  const scores = new Float64Array(count);
  for (const term of terms) {
    for (const [at, weight] of weights.get(term) ?? []) scores[at] = (scores[at] ?? 0) + weight;
  }
  return scores.reduce((best, score, at) => (score > (scores[best] ?? 0) ? at : best), -1);
}

/** The profiles that successive answers are about; undefined when nothing was found. */
export function recall(question: string, samples: number, random: () => number): readonly (Profile | undefined)[] {
  const profiles = factbookProfiles();
  const known = (index ??= build(profiles));
  const terms = [...new Set(termsOf(question))];
  return Array.from({ length: samples }, () => {
    const kept = terms.filter(() => random() < KEPT);
    return profiles[bestFor(kept, known)];
  });
}
