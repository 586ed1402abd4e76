// Computes the losses on plain arrays, without tensors: logits in, gradient with respect to the logits out. All results are finite for
// finite logits: log-ratios are clamped, and the divisor is at least one.
import { countOf, type Decisions } from './decisions.ts';
import { numberAt } from './number-at.ts';

/** Bound for log-ratios: e^20 is 485 million, far beyond every cap. */
const MAX_LOG_RATIO = 20;

/** The log-ratio to - from, clamped to ±20; 0 when it is not a number, for example when both are -Infinity. */
export function logRatio(to: number, from: number): number {
  const ratio = to - from;
  return Number.isNaN(ratio) ? 0 : Math.max(-MAX_LOG_RATIO, Math.min(MAX_LOG_RATIO, ratio));
}

/** The contribution of one decision to the loss, before division by the number of decisions. */
export interface Term {
  readonly loss: number;
  /** Derivative with respect to the log-probability of the chosen candidate. */
  readonly slope: number;
}

export interface LossResult {
  /** Mean over the decisions, including the entropy bonus. */
  readonly loss: number;
  /** Mean entropy of the policy, nats. */
  readonly entropy: number;
  /** Log-probability of the chosen candidate per decision; -Infinity where the logits are not finite. */
  readonly logprobs: Float64Array;
  /** Gradient with respect to the logits, one value per candidate of each decision. */
  readonly gradient: Float32Array;
}

interface ActionDistribution {
  /** Log-probabilities of the candidates. */
  readonly logs: Float64Array;
  readonly entropy: number;
}

function distributionOf(logits: Float32Array): ActionDistribution | undefined {
  const top = logits.reduce((max, value) => Math.max(max, value), -Infinity);
  const sum = logits.reduce((total, value) => total + Math.exp(value - top), 0);
  if (!Number.isFinite(top) || !Number.isFinite(sum)) return undefined;
  const logs = Float64Array.from(logits, (value) => value - top - Math.log(sum));
  const entropy = -logs.reduce((total, log) => total + (log === -Infinity ? 0 : Math.exp(log) * log), 0);
  return { logs, entropy };
}

/** Mean of `term` over the decisions, less the entropy bonus, and its gradient. A decision with non-finite logits counts as 0. */
export function lossOf(
  logits: Float32Array,
  decisions: Decisions,
  { term, entropyBonus }: { readonly term: (index: number, logprob: number) => Term; readonly entropyBonus: number },
): LossResult {
  const count = countOf(decisions);
  const share = 1 / Math.max(1, count);
  const gradient = new Float32Array(logits.length);
  const logprobs = new Float64Array(count).fill(-Infinity);
  let loss = 0;
  let entropy = 0;
  for (let i = 0; i < count; i += 1) {
    const start = numberAt(decisions.starts, i);
    const distribution = distributionOf(logits.subarray(start, decisions.starts[i + 1]));
    if (distribution === undefined) continue;
    const chosen = numberAt(decisions.chosen, i);
    const logprob = numberAt(distribution.logs, chosen);
    const { loss: own, slope } = term(i, logprob);
    logprobs[i] = logprob;
    loss += share * (own - entropyBonus * distribution.entropy);
    entropy += share * distribution.entropy;
    distribution.logs.forEach((log, k) => {
      const probability = Math.exp(log);
      const towards = (k === chosen ? 1 : 0) - probability;
      const spread = probability === 0 ? 0 : probability * (log + distribution.entropy);
      gradient[start + k] = share * (slope * towards + entropyBonus * spread);
    });
  }
  return { loss, entropy, logprobs, gradient };
}

export interface ProximalOptions {
  /** The ratio to the proximal policy is clipped to 1 ± clip. */
  readonly clip: number;
  /** Decisions with a larger behavior weight contribute only the entropy bonus to the loss and the gradient. */
  readonly behaveCap: number;
}

/** Counts of one pass over the decisions. */
export interface ProximalCounts {
  clipped: number;
}

/**
 * Decoupled clipped PPO: the ratio to the proximal policy (the weights before the update) is clipped, and the term is weighted by the ratio
 * of the proximal policy to the behavior policy.
 */
export function proximalTerm(
  decisions: Decisions,
  proximal: Float64Array,
  { clip, behaveCap }: ProximalOptions,
): { readonly term: (index: number, logprob: number) => Term; readonly counts: ProximalCounts } {
  const counts: ProximalCounts = { clipped: 0 };
  const term = (index: number, logprob: number): Term => {
    const before = numberAt(proximal, index);
    const ratio = Math.exp(logRatio(logprob, before));
    const held = Math.max(1 - clip, Math.min(1 + clip, ratio));
    const advantage = numberAt(decisions.signals, index);
    const isClipped = held * advantage < ratio * advantage;
    if (isClipped) counts.clipped += 1;
    const weight = Math.exp(logRatio(before, numberAt(decisions.logprobs, index)));
    if (weight > behaveCap) return { loss: 0, slope: 0 };
    return isClipped
      ? { loss: -weight * held * advantage, slope: 0 }
      : { loss: -weight * ratio * advantage, slope: -weight * ratio * advantage };
  };
  return { term, counts };
}

/** The distance between the policy before the update and the behavior policy. */
export interface BehaviourAccount {
  /** Estimate of KL(behavior, proximal): mean of w - 1 - log w over the decisions, with w as below; never negative. */
  readonly behave_kl: number;
  /** Fraction of decisions whose weight w = exp(proximal - behavior) exceeds the cap. */
  readonly capped_fraction: number;
  /** Effective sample size, (sum w)^2 / sum w^2: from 1 to the number of decisions; 0 without any. */
  readonly ess: number;
}

/** Compares the policy before the update with the behavior policy, over all decisions, including capped ones. */
export function behaviourAccount(decisions: Decisions, proximal: Float64Array, behaveCap: number): BehaviourAccount {
  let capped = 0;
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < proximal.length; i += 1) {
    const weight = Math.exp(logRatio(numberAt(proximal, i), numberAt(decisions.logprobs, i)));
    if (weight > behaveCap) capped += 1;
    sum += weight;
    squares += weight * weight;
  }
  const count = Math.max(1, proximal.length);
  return {
    behave_kl: klEstimate(proximal, decisions.logprobs),
    capped_fraction: capped / count,
    ess: squares === 0 ? 0 : (sum * sum) / squares,
  };
}

/** Mean of r - 1 - log r with r = exp(to - from): estimates KL(from, to) from samples of `from`, never negative. */
export function klEstimate(to: Float64Array, from: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < to.length; i += 1) {
    const ratio = logRatio(numberAt(to, i), numberAt(from, i));
    sum += Math.expm1(ratio) - ratio;
  }
  return sum / Math.max(1, to.length);
}
