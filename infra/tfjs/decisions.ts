// The decisions of a batch as flat arrays, for the learner's thread and the losses. Invalid decisions (wrong shape, features that are not
// finite, unknown log-probability) are left out and counted, so that later code never sees one.
import type { TrainingBatch, TrainingTrajectory, TrainingTurn } from '../../streams/core/learning.ts';
import { fromBytes } from './network.ts';
import { numberAt } from './number-at.ts';

export interface Decisions {
  readonly width: number;
  /** Shape [rows, width]; the candidates of one decision are consecutive rows. */
  readonly features: Float32Array;
  /** First row of each decision, followed by the number of rows. */
  readonly starts: Int32Array;
  readonly chosen: Int32Array;
  /** Behavior log-probability; at most 0, may be -Infinity. */
  readonly logprobs: Float64Array;
  /** The learning signal of the decision: the advantage for GRPO, the discounted return for REINFORCE. */
  readonly signals: Float64Array;
}

export interface Packed {
  readonly step: number;
  readonly decisions: Decisions;
  /** First decision of each trajectory, followed by the number of decisions. */
  readonly trajectories: readonly number[];
  /** Decisions of the batch that were left out. */
  readonly excluded: number;
}

interface Usable {
  readonly features: Float32Array;
  readonly turn: TrainingTurn;
  readonly signal: number;
}

/** Larger features are treated as invalid, so that a product of two features fits into a float32. */
const MAX_FEATURE = 1e6;
const MAX_SIGNAL = 1e6;
/** Rounding can put the logarithm of a probability of 1 slightly above 0. */
const MAX_LOGPROB = 1e-3;

/** Flattens a batch; `signals` returns the learning signal of each turn of a trajectory. */
export function packBatch(batch: TrainingBatch, width: number, signals: (trajectory: TrainingTrajectory) => readonly number[]): Packed {
  const usable: Usable[] = [];
  const trajectories = [0];
  let turns = 0;
  for (const trajectory of batch.trajectories) {
    const worth = signals(trajectory);
    trajectory.turns.forEach((turn, i) => {
      turns += 1;
      const signal = worth[i] ?? NaN;
      const features = featuresOf(turn, width);
      if (features !== undefined && Number.isFinite(signal) && turn.logprob <= MAX_LOGPROB) usable.push({ features, turn, signal });
    });
    trajectories.push(usable.length);
  }
  return { step: batch.step, decisions: flatten(usable, width), trajectories, excluded: turns - usable.length };
}

function featuresOf(turn: TrainingTurn, width: number): Float32Array | undefined {
  const { candidates, chosen } = turn;
  const wellFormed =
    turn.width === width &&
    Number.isInteger(candidates) &&
    Number.isInteger(chosen) &&
    chosen >= 0 &&
    chosen < candidates &&
    turn.features.byteLength === candidates * width * 4;
  if (!wellFormed) return undefined;
  const features = fromBytes(turn.features);
  return features.every((value) => Math.abs(value) <= MAX_FEATURE) ? features : undefined;
}

function flatten(usable: readonly Usable[], width: number): Decisions {
  const starts = new Int32Array(usable.length + 1);
  usable.forEach(({ turn }, i) => (starts[i + 1] = numberAt(starts, i) + turn.candidates));
  const features = new Float32Array(numberAt(starts, usable.length) * width);
  usable.forEach((decision, i) => {
    features.set(decision.features, numberAt(starts, i) * width);
  });
  return {
    width,
    features,
    starts,
    chosen: Int32Array.from(usable, ({ turn }) => turn.chosen),
    logprobs: Float64Array.from(usable, ({ turn }) => Math.min(0, turn.logprob)),
    signals: Float64Array.from(usable, ({ signal }) => Math.max(-MAX_SIGNAL, Math.min(MAX_SIGNAL, signal))),
  };
}

/** The number of decisions. */
export const countOf = (decisions: Decisions): number => decisions.chosen.length;

/** The buffers of the arrays, to transfer to another thread. */
export const buffersOf = (decisions: Decisions): ArrayBuffer[] =>
  [decisions.features, decisions.starts, decisions.chosen, decisions.logprobs, decisions.signals].map(
    (array) => array.buffer as ArrayBuffer,
  );

/** One decision within a set. */
export interface DecisionRef {
  readonly decisions: Decisions;
  readonly index: number;
}

/** The decisions of `sources` in that order; a copy. */
export function select(sources: readonly DecisionRef[], width: number): Decisions {
  const starts = new Int32Array(sources.length + 1);
  const rows = sources.map(({ decisions, index }) => {
    const [from, to] = [numberAt(decisions.starts, index), numberAt(decisions.starts, index + 1)];
    return decisions.features.subarray(from * width, to * width);
  });
  rows.forEach(({ length }, i) => (starts[i + 1] = numberAt(starts, i) + length / width));
  const features = new Float32Array(numberAt(starts, sources.length) * width);
  rows.forEach((values, i) => {
    features.set(values, numberAt(starts, i) * width);
  });
  return {
    width,
    features,
    starts,
    chosen: Int32Array.from(sources, ({ decisions, index }) => numberAt(decisions.chosen, index)),
    logprobs: Float64Array.from(sources, ({ decisions, index }) => numberAt(decisions.logprobs, index)),
    signals: Float64Array.from(sources, ({ decisions, index }) => numberAt(decisions.signals, index)),
  };
}

/** Concatenates several sets of decisions; a copy. */
export const joined = (parts: readonly Decisions[], width: number): Decisions =>
  select(
    parts.flatMap((decisions) => Array.from({ length: countOf(decisions) }, (_, index) => ({ decisions, index }))),
    width,
  );

/** Discounted returns of the turns of a trajectory; its final reward is added to that of the last turn. */
export function discountedReturns(trajectory: TrainingTrajectory, discount: number): readonly number[] {
  const returns: number[] = [];
  let following = trajectory.reward;
  for (let i = trajectory.turns.length - 1; i >= 0; i -= 1) {
    const own = trajectory.turns[i]?.reward ?? 0;
    following = own + (i === trajectory.turns.length - 1 ? trajectory.reward : discount * following);
    returns.unshift(following);
  }
  return returns;
}
