// GRPO with the decoupled, clipped loss of PPO: the advantages come with the batch; the clipped ratio is relative to the weights before the
// update (the proximal policy), and a separate weight accounts for the distance between those and the behavior policy.
import { countOf, select, type Decisions } from './decisions.ts';
import { descend, evaluate, noMetrics, type UpdateEngine, type LearnerState, type Update } from './descend.ts';
import { behaviourAccount, klEstimate, proximalTerm } from './losses.ts';

/** One update: `epochs` passes over the batch. Loss, norm and clip fraction are means over the passes. */
export function updateProximal(engine: UpdateEngine, before: LearnerState, decisions: Decisions): Update {
  const count = countOf(decisions);
  if (count === 0) return { state: before, metrics: noMetrics };
  const { hyper } = engine;
  const start = evaluate(engine, before.weights, decisions);
  const parts = split(decisions, start.logprobs, hyper.minibatches);
  const passes = Array.from({ length: hyper.epochs }, () => parts).flat();
  let state = before;
  let loss = 0;
  let clipped = 0;
  let norm = 0;
  for (const part of passes) {
    const { term, counts } = proximalTerm(part.decisions, part.proximal, hyper);
    const step = descend(engine, state, { decisions: part.decisions, term });
    state = step.state;
    loss += step.loss / passes.length;
    norm += step.norm / passes.length;
    clipped += counts.clipped;
  }
  const end = evaluate(engine, state.weights, decisions);
  const metrics = {
    loss,
    approx_kl: klEstimate(end.logprobs, start.logprobs),
    ...behaviourAccount(decisions, start.logprobs, hyper.behaveCap),
    clip_fraction: clipped / (count * hyper.epochs),
    entropy: start.entropy,
    grad_norm: norm,
  };
  return { state, metrics };
}

interface DecisionPart {
  readonly decisions: Decisions;
  readonly proximal: Float64Array;
}

/** Decision i goes to minibatch i mod n: deterministic, and neighboring decisions are spread. */
function split(decisions: Decisions, proximal: Float64Array, minibatches: number): readonly DecisionPart[] {
  const count = countOf(decisions);
  const parts = Math.min(minibatches, count);
  if (parts <= 1) return [{ decisions, proximal }];
  return Array.from({ length: parts }, (_, part) => {
    const indices = Array.from({ length: Math.ceil((count - part) / parts) }, (_unused, k) => part + k * parts);
    const sources = indices.map((index) => ({ decisions, index }));
    return { decisions: select(sources, decisions.width), proximal: proximal.filter((_value, i) => i % parts === part) };
  });
}
