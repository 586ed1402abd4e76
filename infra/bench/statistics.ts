/** The middle value, or the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? NaN) + upper) / 2;
}

/** Range as a fraction of the median. */
export const spread = (values: readonly number[]): number => (Math.max(...values) - Math.min(...values)) / median(values);

/** The value below which a fraction of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** Two-sided 95 % quantiles of Student's t with 1, 2, ... degrees of freedom; beyond them the normal distribution is close enough. */
const T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131];

export interface MeanInterval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Mean with its 95 % interval by Student's t; infinitely wide for a single value. */
export function meanOf(values: readonly number[]): MeanInterval {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  const half = count < 2 ? Infinity : (T95[count - 2] ?? 1.96) * Math.sqrt(variance / count);
  return { mean, low: mean - half, high: mean + half };
}

/** Geometric mean of ratios with its 95 % interval. */
export function ratioOf(ratios: readonly number[]): MeanInterval {
  const { mean, low, high } = meanOf(ratios.map(Math.log));
  return { mean: Math.exp(mean), low: Math.exp(low), high: Math.exp(high) };
}

/** `2.10 (1.92 to 2.30)`; a single value has no interval. */
export function shownInterval({ mean, low, high }: MeanInterval, digits = 2): string {
  const shown = (value: number): string => value.toFixed(digits);
  return Number.isFinite(high) ? `${shown(mean)} (${shown(low)} to ${shown(high)})` : `${shown(mean)} (one value)`;
}
