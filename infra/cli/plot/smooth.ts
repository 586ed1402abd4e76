/**
 * Exponential moving average as in TensorBoard: `weight` times the previous average plus `1 - weight` times the value, with a bias
 * correction for the first values. A weight of 0 leaves the values unchanged.
 */
export function smoothed(values: readonly number[], weight: number): readonly number[] {
  let [sum, share] = [0, 0];
  return values.map((value) => {
    sum = weight * sum + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return sum / share;
  });
}
