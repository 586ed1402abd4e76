// Scores candidates with loaded policy versions. All calls of one tick for one version become one forward pass, so they share the cost of a
// call to the tensor backend. A version can be disposed of at any time: earlier calls are still answered, later calls are rejected.
import * as tf from '@tensorflow/tfjs-core';
import type { PolicyWeights, Scorer, ScorerFactory } from '../../streams/core/learning.ts';
import type { Backend } from './backend.ts';
import { forward, loadLayers, parseWeights, readLogits, type LayerTensors } from './network.ts';

interface ScoreCall {
  readonly features: Float32Array;
  readonly candidates: number;
  readonly resolve: (logits: Float32Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum rows per forward pass; a tick with more rows makes several. */
const MAX_ROWS = 16_384;

/** Loads policy versions into `backend`. */
export function createScorerFactory(backend: Backend): ScorerFactory {
  return { backend: backend.name, load: (weights) => createScorer(backend, weights) };
}

function createScorer(backend: Backend, { architecture, bytes }: PolicyWeights): Scorer {
  const width = architecture.inputs;
  const weights = parseWeights(architecture, bytes);
  const layers = backend.compute(() => loadLayers(architecture, weights).map(kept));
  let calls: ScoreCall[] = [];
  let state: 'open' | 'closing' | 'closed' = 'open';

  const free = (): void => {
    state = 'closed';
    for (const { matrix, bias } of layers) tf.dispose([matrix, bias]);
  };
  const flush = (): void => {
    const due = calls;
    calls = [];
    for (const group of inGroups(due)) answer(group, (features, rows) => logitsOf(backend, layers, { features, rows, width }));
    if (state === 'closing') free();
  };

  return {
    score(features, candidates) {
      if (state !== 'open') return Promise.reject(new RangeError('scoring with a policy version that was disposed of'));
      if (candidates < 0 || features.length !== candidates * width) {
        return Promise.reject(
          new RangeError(`scoring ${candidates} candidates: expected ${candidates} x ${width} features, got ${features.length}`),
        );
      }
      if (candidates === 0) return Promise.resolve(new Float32Array(0));
      return new Promise((resolve, reject) => {
        calls.push({ features, candidates, resolve, reject });
        if (calls.length === 1) setImmediate(flush);
      });
    },
    dispose() {
      if (state !== 'open') return;
      state = 'closing';
      if (calls.length === 0) free();
    },
  };
}

const kept = ({ matrix, bias }: LayerTensors): LayerTensors => ({ matrix: tf.keep(matrix), bias: tf.keep(bias) });

function inGroups(calls: readonly ScoreCall[]): ScoreCall[][] {
  const groups: ScoreCall[][] = [];
  let group: ScoreCall[] = [];
  let rows = 0;
  for (const call of calls) {
    if (group.length > 0 && rows + call.candidates > MAX_ROWS) {
      groups.push(group);
      group = [];
      rows = 0;
    }
    group.push(call);
    rows += call.candidates;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

function answer(calls: readonly ScoreCall[], compute: (features: Float32Array, rows: number) => Float32Array): void {
  try {
    const rows = calls.reduce((sum, call) => sum + call.candidates, 0);
    const features = new Float32Array(calls.reduce((sum, call) => sum + call.features.length, 0));
    let at = 0;
    for (const call of calls) {
      features.set(call.features, at);
      at += call.features.length;
    }
    const logits = compute(features, rows);
    let row = 0;
    for (const call of calls) {
      call.resolve(logits.slice(row, row + call.candidates));
      row += call.candidates;
    }
  } catch (error) {
    for (const call of calls) call.reject(error);
  }
}

interface FeatureRows {
  readonly features: Float32Array;
  readonly rows: number;
  readonly width: number;
}

function logitsOf(backend: Backend, layers: readonly LayerTensors[], { features, rows, width }: FeatureRows): Float32Array {
  return backend.compute(() => readLogits(forward(layers, tf.tensor2d(features, [rows, width]))));
}
