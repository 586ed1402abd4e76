// Adam with decoupled weight decay (AdamW) on plain arrays. Its state is serialized exactly, so that a restored run continues bit for bit.
import { PlatformError } from '../../streams/core/errors.ts';
import { fromBytes, toBytes } from './network.ts';
import { numberAt } from './number-at.ts';

export interface AdamState {
  readonly steps: number;
  readonly mean: Float32Array;
  readonly variance: Float32Array;
}

export interface AdamOptions {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
}

const HEADER_BYTES = 8;

/** State before the first step. */
export const freshAdam = (count: number): AdamState => ({ steps: 0, mean: new Float32Array(count), variance: new Float32Array(count) });

/** Step count as float64 little-endian, then both moments as float32; empty before the first step. */
export function adamToBytes(state: AdamState): Buffer {
  if (state.steps === 0) return Buffer.alloc(0);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeDoubleLE(state.steps);
  return Buffer.concat([header, toBytes(state.mean), toBytes(state.variance)]);
}

/** Parses the state for `count` weights; throws WEIGHTS_MISMATCH when the bytes are not such a state. */
export function parseAdam(bytes: Uint8Array, count: number): AdamState {
  if (bytes.byteLength === 0) return freshAdam(count);
  const expected = HEADER_BYTES + 8 * count;
  if (bytes.byteLength !== expected) {
    throw new PlatformError(
      'WEIGHTS_MISMATCH',
      `loading the optimizer's moments: expected ${expected} bytes, got ${bytes.byteLength}; use the architecture that the run was started with`,
    );
  }
  const steps = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readDoubleLE();
  const moments = fromBytes(bytes.subarray(HEADER_BYTES));
  if (!(Number.isInteger(steps) && steps > 0 && moments.every(Number.isFinite))) {
    throw new PlatformError('WEIGHTS_MISMATCH', "loading the optimizer's moments: they are damaged; continue from an earlier version");
  }
  return { steps, mean: moments.slice(0, count), variance: moments.slice(count) };
}

/** One step; returns new arrays and leaves the old ones unchanged. */
export function adamStep(
  current: { readonly weights: Float32Array; readonly state: AdamState },
  gradient: Float32Array,
  options: AdamOptions,
): { readonly weights: Float32Array; readonly state: AdamState } {
  const { learningRate, beta1, beta2, epsilon, weightDecay } = options;
  const steps = current.state.steps + 1;
  const correction1 = 1 - beta1 ** steps;
  const correction2 = 1 - beta2 ** steps;
  const weights = new Float32Array(gradient.length);
  const mean = new Float32Array(gradient.length);
  const variance = new Float32Array(gradient.length);
  for (let i = 0; i < gradient.length; i += 1) {
    const slope = numberAt(gradient, i);
    const weight = numberAt(current.weights, i);
    const first = beta1 * numberAt(current.state.mean, i) + (1 - beta1) * slope;
    const second = beta2 * numberAt(current.state.variance, i) + (1 - beta2) * slope * slope;
    mean[i] = first;
    variance[i] = second;
    const direction = first / correction1 / (Math.sqrt(second / correction2) + epsilon);
    weights[i] = weight - learningRate * (direction + weightDecay * weight);
  }
  return { weights, state: { steps, mean, variance } };
}
