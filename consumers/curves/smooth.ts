/**
 * Exponential moving average as TensorBoard draws it: each value is `weight` of the one before and the rest of its own, and the
 * first ones are not drawn towards 0. A weight of 0 leaves the values as they are.
 */
export function smoothed(values: readonly number[], weight: number): readonly number[] {
  let [sum, share] = [0, 0];
  return values.map((value) => {
    sum = weight * sum + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return sum / share;
  });
}
