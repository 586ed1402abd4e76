// Draws from the distributions that rollouts follow. Randomness is an argument.

import type { Random } from '../../streams/core/random.ts';

/** A standard normal variate. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Log-normal: half of the draws are below `median`; `sigma` is the standard deviation of their logarithm. */
export const logNormal = (random: Random, median: number, sigma: number): number => median * Math.exp(sigma * normal(random));

/** Pareto: at least `scale`, with a tail that falls as x^-alpha; for alpha up to 1 even the mean is infinite. */
export const pareto = (random: Random, scale: number, alpha: number): number => scale / (1 - random()) ** (1 / alpha);

/** The median of a log-normal distribution with this mean. */
export const medianOf = (mean: number, sigma: number): number => mean / Math.exp((sigma * sigma) / 2);
