// Typed arrays of computed numbers.

/** `numberAt` of each index. `Float64Array.from` with a function takes several times as long. */
export function numbersOf(length: number, numberAt: (at: number) => number): Float64Array {
  const made = new Float64Array(length);
  for (let at = 0; at < length; at += 1) made[at] = numberAt(at);
  return made;
}
