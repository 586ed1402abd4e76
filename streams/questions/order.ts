// The order in which questions are asked, and which ones are held out. Both are functions of a seed, so nothing is stored.
import { deriveSeed } from '../core/random.ts';

const ROUNDS = 4;

/** A Feistel network: a keyed permutation of the numbers below 4^halfBits. */
function shuffled(value: number, halfBits: number, key: string): number {
  const mask = 2 ** halfBits - 1;
  let left = Math.floor(value / 2 ** halfBits);
  let right = value & mask;
  for (let round = 0; round < ROUNDS; round += 1) {
    const mixed = deriveSeed(`${key}/${round}`, right) & mask;
    [left, right] = [right, (left ^ mixed) & mask];
  }
  return left * 2 ** halfBits + right;
}

/**
 * Which of `count` questions (0-based) a run admits as number `index`: every epoch of `count` admissions asks each question exactly once,
 * in its own order.
 */
export function questionAt(seed: number, index: number, count: number): number {
  if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`choosing a question: expected at least one, got ${count}`);
  const key = `${seed}/${Math.floor(index / count)}`;
  const halfBits = Math.max(1, Math.ceil(Math.log2(count) / 2));
  let place = index % count;
  do place = shuffled(place, halfBits, key);
  while (place >= count);
  return place;
}

/** Members of `keys` that are held out: the share of them (rounded) with the smallest seeded hashes. */
export function heldOut(seed: number, keys: readonly string[], share: number): ReadonlySet<string> {
  const ranked = [...new Set(keys)]
    .sort()
    .map((key) => ({ key, rank: deriveSeed(`${seed}/${key}`, 0) }))
    .sort((a, b) => a.rank - b.rank);
  return new Set(ranked.slice(0, Math.round(ranked.length * share)).map(({ key }) => key));
}
