// Seeded randomness. The same seed and stream give the same numbers on every machine, so that an attempt can be reproduced.

/** Draws a number in [0, 1). */
export type Random = () => number;

const MIX = 0x9e3779b9;

/** One round of a 32-bit finalizer: every input bit flips about half of the output bits. */
function scramble(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * Uniform numbers in [0, 1) with 53 random bits, from sfc32. `seed` is any safe integer; `stream` separates sequences that share a seed,
 * such as the attempts at one trajectory.
 */
export function createRandom(seed: number, stream = 0): () => number {
  const low = seed >>> 0;
  const high = Math.floor(seed / 2 ** 32) >>> 0;
  let a = scramble(low + MIX);
  let b = scramble(high ^ scramble(a));
  let c = scramble(stream + scramble(b));
  let counter = 1;
  function word(): number {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
  for (let round = 0; round < 12; round += 1) word();
  return () => (word() * 2 ** 21 + (word() >>> 11)) / 2 ** 53;
}

/** A seed derived from a text and an index: a non-negative safe integer. */
export function deriveSeed(text: string, index: number): number {
  let low = scramble(index);
  let high = scramble(index ^ MIX);
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    low = scramble(low ^ unit);
    high = scramble((high + unit + MIX) | 0);
  }
  return (high & 0x1fffff) * 2 ** 32 + low;
}

/** The items in random order; one draw per item. */
export function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
