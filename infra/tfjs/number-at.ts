/** The number at `index` of a flat array. Throws outside of the array, because that is a bug, not a zero. */
export function numberAt(values: Float32Array | Float64Array | Int32Array, index: number): number {
  const value = values[index];
  if (value === undefined) throw new RangeError(`reading number ${index} of ${values.length}`);
  return value;
}
