import { PlatformError } from '../../streams/core/errors.ts';
import type { LearnerParameters } from '../../streams/core/learning.ts';
import type { Config } from '../config/descriptors.ts';

/** Everything about the update that can be chosen. */
export interface Hyper {
  readonly algorithm: Config['algorithm'];
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** Decoupled: a weight loses learningRate x weightDecay of itself a step. */
  readonly weightDecay: number;
  /** Largest norm of the gradient over all weights. */
  readonly maxGradNorm: number;
  /** What a nat of entropy is worth. */
  readonly entropyBonus: number;
  /** GRPO: the ratio to the policy before the update is held in 1 -+ clip. */
  readonly clip: number;
  /** Largest behaviour weight: GRPO drops a decision over it, REINFORCE holds it there. */
  readonly behaveCap: number;
  /** GRPO: passes over the batch; in the first one every ratio is 1. */
  readonly epochs: number;
  /** GRPO: parts of the batch that get a gradient step each. */
  readonly minibatches: number;
  /** REINFORCE: what a reward is worth a turn earlier. */
  readonly discount: number;
  /** REINFORCE: above 0 the buffer keeps and draws whole trajectories; 0, in runs that recorded nothing of it, single decisions. */
  readonly replayTrajectories: number;
  /** REINFORCE: what the buffer keeps at most, in trajectories (or decisions). */
  readonly replayCapacity: number;
  /** REINFORCE: what the buffer keeps at most, in bytes; 0 is no limit. */
  readonly replayBytes: number;
  /** REINFORCE: trajectories (or decisions) of one batch, which is one gradient step. */
  readonly replaySample: number;
  /** REINFORCE: batches of one update. */
  readonly replaySteps: number;
}

const shared = {
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  maxGradNorm: 1,
  entropyBonus: 0,
  clip: 0.4,
  behaveCap: 5,
  epochs: 2,
  minibatches: 1,
  discount: 0.99,
  replayTrajectories: 1,
  replayCapacity: 100_000,
  replayBytes: 8 * 2 ** 30,
  replaySample: 128,
  replaySteps: 10,
};

/** What a run was made with that did not record it. */
const unrecorded = { replayTrajectories: 0, replayBytes: 0 };

const learningRates: Readonly<Record<Config['algorithm'], number>> = { grpo: 0.003, reinforce: 1e-5 };

/** Defaults of the algorithm, changed where `changes` says so. A learning rate of 0 takes that of the algorithm. */
export function hyperOf(algorithm: Config['algorithm'], wanted: number, changes: Partial<Hyper> = {}): Hyper {
  const learningRate = wanted > 0 ? wanted : learningRates[algorithm];
  return { ...shared, weightDecay: algorithm === 'reinforce' ? 0.01 : 0, ...changes, algorithm, learningRate };
}

/** As they are recorded: every one of them, defaults included. */
export const parametersOf = (hyper: Hyper): LearnerParameters => ({ ...hyper });

const isAlgorithm = (name: unknown): name is Config['algorithm'] => typeof name === 'string' && name in learningRates;

/** Recorded hyper-parameters; RUN_CONFLICT when this version cannot make updates with them. One that was not recorded has its default. */
export function hyperFrom(recorded: LearnerParameters): Hyper {
  const { algorithm, ...numbers } = recorded;
  const refuse = (name: string): PlatformError =>
    new PlatformError(
      'RUN_CONFLICT',
      `taking over the recorded hyper-parameters: this version has no ${name} of ${String(recorded[name])}; use the version that the run was started with`,
    );
  if (!isAlgorithm(algorithm)) throw refuse('algorithm');
  const defaults = hyperOf(algorithm, 0);
  for (const [name, value] of Object.entries(numbers)) {
    if (!(name in defaults) || typeof value !== 'number' || !Number.isFinite(value)) throw refuse(name);
  }
  return { ...defaults, ...unrecorded, ...(numbers as Partial<Hyper>), algorithm };
}
