// The multilayer perceptron 'mlp-f32-v1': one logit per row of features, tanh between layers. Weights are one flat float32 array: for each
// layer the matrix (inputs x outputs, row-major), then its bias. The backward pass is written by hand: it needs a third of the operations
// of automatic differentiation, and the loss can be computed outside on plain numbers.
import { endianness } from 'node:os';
import * as tf from '@tensorflow/tfjs-core';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Architecture } from '../../streams/core/learning.ts';
import { createNormal, createRandom } from './random.ts';

interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  /** Offset of its matrix in the flat weights; the bias follows. */
  readonly offset: number;
}

/** Shapes of the layers; the output layer has one unit. */
function layersOf(architecture: Architecture): readonly Layer[] {
  const sizes = [architecture.inputs, ...architecture.hidden, 1];
  let offset = 0;
  return sizes.slice(1).map((outputs, i) => {
    const inputs = sizes[i] ?? 0;
    const layer = { inputs, outputs, offset };
    offset += (inputs + 1) * outputs;
    return layer;
  });
}

/** The number of weights of the architecture. */
export const weightCount = (architecture: Architecture): number =>
  layersOf(architecture).reduce((sum, layer) => sum + (layer.inputs + 1) * layer.outputs, 0);

const OUTPUT_SCALE = 0.01;

/**
 * Seeded initial weights: normal with variance 1/inputs, zero bias; the output layer is scaled by 1/100, so that the first policy is near
 * uniform. The same seed gives the same bytes everywhere.
 */
export function initialWeights(architecture: Architecture, seed: number): Float32Array {
  const normal = createNormal(createRandom(seed));
  const weights = new Float32Array(weightCount(architecture));
  const layers = layersOf(architecture);
  layers.forEach((layer, i) => {
    const scale = (i === layers.length - 1 ? OUTPUT_SCALE : 1) / Math.sqrt(layer.inputs);
    for (let k = 0; k < layer.inputs * layer.outputs; k += 1) weights[layer.offset + k] = normal() * scale;
  });
  return weights;
}

/** Float32 little-endian bytes of an array; a copy. */
export function toBytes(values: Float32Array): Buffer {
  const bytes = Buffer.from(values.slice().buffer);
  return endianness() === 'LE' ? bytes : bytes.swap32();
}

/** An array from float32 little-endian bytes; a copy, so any alignment works. */
export function fromBytes(bytes: Uint8Array): Float32Array {
  const copy = Buffer.from(new Uint8Array(bytes).buffer);
  if (endianness() !== 'LE') copy.swap32();
  return new Float32Array(copy.buffer, 0, copy.byteLength / 4);
}

/** Parses weights; throws WEIGHTS_MISMATCH when they do not fit this architecture or are not finite. */
export function parseWeights(architecture: Architecture, bytes: Uint8Array): Float32Array {
  const expected = weightCount(architecture) * 4;
  if (bytes.byteLength !== expected) {
    const shape = [architecture.inputs, ...architecture.hidden, 1].join('-');
    throw new PlatformError(
      'WEIGHTS_MISMATCH',
      `loading weights of a ${shape} network: expected ${expected} bytes, got ${bytes.byteLength}; use the architecture that the run was started with`,
    );
  }
  const weights = fromBytes(bytes);
  if (!weights.every(Number.isFinite)) {
    throw new PlatformError('WEIGHTS_MISMATCH', 'loading weights: some are not finite; continue from an earlier version');
  }
  return weights;
}

/** A layer in the tensor backend. */
export interface LayerTensors {
  readonly matrix: tf.Tensor2D;
  readonly bias: tf.Tensor1D;
}

/** Loads flat weights into the tensor backend. */
export function loadLayers(architecture: Architecture, weights: Float32Array): readonly LayerTensors[] {
  return layersOf(architecture).map(({ inputs, outputs, offset }) => {
    const end = offset + inputs * outputs;
    return {
      matrix: tf.tensor2d(weights.slice(offset, end), [inputs, outputs]),
      bias: tf.tensor1d(weights.slice(end, end + outputs)),
    };
  });
}

/** Reads the logits of a forward pass from the backend. */
export function readLogits(outputs: readonly tf.Tensor2D[]): Float32Array {
  const logits = outputs.at(-1);
  if (logits === undefined) throw new RangeError('a network has at least its output layer');
  return logits.dataSync<'float32'>();
}

/** The outputs of all layers; the last are the logits (rows x 1). */
export function forward(layers: readonly LayerTensors[], features: tf.Tensor2D): readonly tf.Tensor2D[] {
  const outputs: tf.Tensor2D[] = [];
  let input = features;
  layers.forEach(({ matrix, bias }, i) => {
    const sum = tf.add<tf.Tensor2D>(tf.matMul(input, matrix), bias);
    input = i === layers.length - 1 ? sum : tf.tanh(sum);
    outputs.push(input);
  });
  return outputs;
}

/** One pass over some rows: the logits, and the gradient once the loss is known. */
export interface ForwardPass {
  readonly layers: readonly LayerTensors[];
  readonly features: tf.Tensor2D;
  readonly outputs: readonly tf.Tensor2D[];
}

/** Gradient of the loss with respect to the flat weights, from its gradient with respect to the logits. */
export function backward({ layers, features, outputs }: ForwardPass, logitGradient: Float32Array): Float32Array {
  const pieces: tf.Tensor1D[] = [];
  let gradient = tf.tensor2d(logitGradient, [logitGradient.length, 1]);
  for (let i = layers.length - 1; i >= 0; i -= 1) {
    const layer = layers[i];
    const input = i === 0 ? features : outputs[i - 1];
    if (layer === undefined || input === undefined) throw new RangeError('a pass has an output for each layer');
    pieces.unshift(tf.reshape(tf.matMul(input, gradient, true, false), [-1]), tf.sum(gradient, 0));
    if (i > 0) {
      const slope = tf.sub<tf.Tensor2D>(1, tf.square(input));
      gradient = tf.mul(tf.matMul(gradient, layer.matrix, false, true), slope);
    }
  }
  return tf.concat1d(pieces).dataSync<'float32'>().slice();
}
