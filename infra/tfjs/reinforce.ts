// REINFORCE over a replay buffer. The buffer is empty when the learner starts and after a restore, so a restored run replays less than an
// uninterrupted one at first. The sample depends only on the step number and the buffer's content.
import { countOf, joined, type Decisions, type Packed } from './decisions.ts';
import {
  descendAlong,
  evaluate,
  gradientOf,
  noMetrics,
  type Descent,
  type UpdateEngine,
  type Objective,
  type LearnerState,
  type Update,
} from './descend.ts';
import { behaviourAccount, klEstimate, logRatio } from './losses.ts';
import { numberAt } from './number-at.ts';
import { createRandom } from './random.ts';
import { chunksOf, type ReplayBuffer } from './replay-buffer.ts';

/** Lower bound for log-probabilities in the loss: e^-50 is practically 0. */
const MIN_LOGPROB = -50;

/** Maximum rows per computation, unless one trajectory has more: a batch of long ones has hundreds of megabytes of features. */
const MAX_ROWS = 65_536;

interface Weighing {
  readonly cap: number;
  /** Mean return of the whole batch. */
  readonly baseline: number;
}

/** The return minus the baseline, weighted by the importance ratio of the current policy. */
function replayObjective(
  decisions: Decisions,
  { cap, baseline }: Weighing,
): { readonly objective: Objective; readonly held: () => number } {
  let held = 0;
  const term: Objective['term'] = (index, logprob) => {
    const weight = Math.exp(logRatio(logprob, numberAt(decisions.logprobs, index)));
    if (weight > cap) held += 1;
    const slope = -Math.min(weight, cap) * (numberAt(decisions.signals, index) - baseline);
    return { loss: slope * Math.max(MIN_LOGPROB, logprob), slope };
  };
  return { objective: { decisions, term }, held: () => held };
}

const sumOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0);

/** One gradient step on a batch: equal to a step on the whole batch, computed in chunks. */
function descendOn(engine: UpdateEngine, state: LearnerState, batch: readonly Decisions[]): Descent & { readonly held: number } {
  const count = batch.reduce((sum, part) => sum + countOf(part), 0);
  const baseline = batch.reduce((sum, part) => sum + sumOf(part.signals), 0) / Math.max(1, count);
  const gradient = new Float32Array(state.weights.length);
  let loss = 0;
  let held = 0;
  for (const chunk of chunksOf(batch, MAX_ROWS)) {
    const decisions = joined(chunk, engine.architecture.inputs);
    const weighed = replayObjective(decisions, { cap: engine.hyper.behaveCap, baseline });
    const part = gradientOf(engine, state.weights, weighed.objective);
    const share = countOf(decisions) / count;
    loss += share * part.loss;
    held += weighed.held();
    part.gradient.forEach((slope, i) => (gradient[i] = numberAt(gradient, i) + share * slope));
  }
  return { ...descendAlong(engine, state, { loss, gradient }), held: held / Math.max(1, count) };
}

/**
 * One update: the trajectories join the buffer, followed by gradient steps on a few batches from it. `clip_fraction` is the fraction of
 * importance ratios above the cap.
 */
export function updateReplayed(
  engine: UpdateEngine,
  before: LearnerState,
  { packed, replay }: { readonly packed: Packed; readonly replay: ReplayBuffer },
): Update {
  const { decisions, step } = packed;
  if (countOf(decisions) === 0) return { state: before, metrics: noMetrics };
  const { replaySteps, replaySample, behaveCap } = engine.hyper;
  const random = createRandom(step);
  const start = evaluate(engine, before.weights, decisions);
  replay.add(packed);
  let state = before;
  let loss = 0;
  let norm = 0;
  let clipped = 0;
  for (let k = 0; k < replaySteps; k += 1) {
    const taken = descendOn(engine, state, replay.sample(replaySample, random));
    state = taken.state;
    loss += taken.loss / replaySteps;
    norm += taken.norm / replaySteps;
    clipped += taken.held / replaySteps;
  }
  const end = evaluate(engine, state.weights, decisions);
  const metrics = {
    loss,
    approx_kl: klEstimate(end.logprobs, start.logprobs),
    ...behaviourAccount(decisions, start.logprobs, behaveCap),
    clip_fraction: clipped,
    entropy: start.entropy,
    grad_norm: norm,
  };
  return { state, metrics };
}
