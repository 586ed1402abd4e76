// Words as the ranker compares them: lowercase, without the most common words, without a plural s.

const common = new Set(
  'a an and are as at be by for from has have in is it its of on or that the this to was what when where which who whose will with does did do how'.split(
    ' ',
  ),
);
const word = /[\p{L}\p{N}]+/gu;

const stem = (term: string): string =>
  term.length > 4 && term.endsWith('ies')
    ? term.slice(0, -3) + 'y'
    : term.length > 3 && term.endsWith('s') && !term.endsWith('ss')
      ? term.slice(0, -1)
      : term;

/** The words of a text in order. */
export const wordsOf = (text: string): string[] => (text.toLowerCase().match(word) ?? []).filter((term) => !common.has(term)).map(stem);

export type WordSet = ReadonlySet<string>;

export const wordSet = (text: string): WordSet => new Set(wordsOf(text));

/** Share of `wanted` that is in `there`; 0 when `wanted` is empty. */
export function coverage(wanted: WordSet, there: WordSet): number {
  if (wanted.size === 0) return 0;
  let found = 0;
  for (const term of wanted) if (there.has(term)) found += 1;
  return found / wanted.size;
}

/** Similarity of two sets: 1 when they are equal, 0 when they share nothing. */
export function likeness(one: WordSet, other: WordSet): number {
  const size = one.size + other.size;
  return size === 0 ? 0 : (2 * coverage(one, other) * one.size) / size;
}
