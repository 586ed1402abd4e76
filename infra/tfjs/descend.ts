// Evaluates the network's log-probabilities, and makes one gradient step. A gradient or a step that is not finite changes nothing.
import * as tf from '@tensorflow/tfjs-core';
import type { Architecture, UpdateMetrics } from '../../streams/core/learning.ts';
import { adamStep, type AdamState } from './adam.ts';
import type { Backend } from './backend.ts';
import type { Decisions } from './decisions.ts';
import type { Hyper } from './hyper.ts';
import { lossOf, type LossResult, type Term } from './losses.ts';
import { backward, forward, loadLayers, readLogits } from './network.ts';

/** What an update computes on. */
export interface UpdateEngine {
  readonly backend: Backend;
  readonly architecture: Architecture;
  readonly hyper: Hyper;
}

/** What an update changes. */
export interface LearnerState {
  readonly weights: Float32Array;
  readonly adam: AdamState;
}

export interface Update {
  readonly state: LearnerState;
  readonly metrics: UpdateMetrics;
}

/** The metrics of an update without decisions, which changes nothing. */
export const noMetrics: UpdateMetrics = {
  loss: 0,
  approx_kl: 0,
  behave_kl: 0,
  clip_fraction: 0,
  capped_fraction: 0,
  ess: 0,
  entropy: 0,
  grad_norm: 0,
};

/** Log-probabilities and entropy of the decisions under the given weights. */
export function evaluate({ backend, architecture }: UpdateEngine, weights: Float32Array, decisions: Decisions): LossResult {
  return backend.compute(() => {
    const logits = readLogits(forward(loadLayers(architecture, weights), rowsOf(decisions)));
    return lossOf(logits, decisions, { term: () => ({ loss: 0, slope: 0 }), entropyBonus: 0 });
  });
}

/** The loss to minimize: the mean of the terms minus the entropy bonus. */
export interface Objective {
  readonly decisions: Decisions;
  readonly term: (index: number, logprob: number) => Term;
}

/** The objective and its gradient with respect to the flat weights. */
export function gradientOf(
  { backend, architecture, hyper }: UpdateEngine,
  weights: Float32Array,
  { decisions, term }: Objective,
): { readonly loss: number; readonly gradient: Float32Array } {
  return backend.compute(() => {
    const features = rowsOf(decisions);
    const layers = loadLayers(architecture, weights);
    const outputs = forward(layers, features);
    const { loss, gradient } = lossOf(readLogits(outputs), decisions, { term, entropyBonus: hyper.entropyBonus });
    return { loss, gradient: backward({ layers, features, outputs }, gradient) };
  });
}

export interface Descent {
  readonly state: LearnerState;
  readonly loss: number;
  /** Gradient norm before clipping. */
  readonly norm: number;
}

/** One Adam step along the gradient of the objective. */
export const descend = (engine: UpdateEngine, state: LearnerState, objective: Objective): Descent =>
  descendAlong(engine, state, gradientOf(engine, state.weights, objective));

/** One Adam step along a gradient, clipped to the maximum norm. */
export function descendAlong(
  { hyper }: UpdateEngine,
  state: LearnerState,
  { loss, gradient }: { readonly loss: number; readonly gradient: Float32Array },
): Descent {
  const norm = Math.sqrt(gradient.reduce((sum, slope) => sum + slope * slope, 0));
  if (!Number.isFinite(norm)) return { state, loss, norm: 0 };
  const scale = norm > hyper.maxGradNorm ? hyper.maxGradNorm / norm : 1;
  const held = gradient.map((slope) => slope * scale);
  const next = adamStep({ weights: state.weights, state: state.adam }, held, hyper);
  if (!next.weights.every(Number.isFinite)) return { state, loss, norm };
  return { state: { weights: next.weights, adam: next.state }, loss, norm };
}

const rowsOf = ({ features, width }: Decisions): tf.Tensor2D => tf.tensor2d(features, [features.length / width, width]);
