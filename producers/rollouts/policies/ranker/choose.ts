/** The choice of one of several options. */
export interface Choice {
  /** -1 when there was nothing to choose from. */
  readonly chosen: number;
  /** Natural log of the chosen option's probability under the softmax of the logits. */
  readonly logprob: number;
  /** In nats. */
  readonly entropy: number;
}

/** Samples from the softmax of the logits, with `chance` drawn uniformly from [0, 1); without it, takes the first of the highest logits. */
export function choose(logits: ArrayLike<number>, chance: number | undefined): Choice {
  if (logits.length === 0) return { chosen: -1, logprob: 0, entropy: 0 };
  const values = Array.from(logits);
  const highest = Math.max(...values);
  const weights = values.map((value) => Math.exp(value - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let chosen = values.indexOf(highest);
  if (chance !== undefined) {
    let left = chance * total;
    chosen = weights.findIndex((weight) => (left -= weight) < 0);
    if (chosen < 0) chosen = values.indexOf(highest);
  }
  const logprobs = values.map((value) => value - highest - Math.log(total));
  const entropy = -logprobs.reduce((sum, logprob) => sum + (logprob > -700 ? Math.exp(logprob) * logprob : 0), 0);
  return { chosen, logprob: logprobs[chosen] ?? 0, entropy };
}
