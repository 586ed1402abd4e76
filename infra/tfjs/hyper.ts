import { PlatformError } from '../../streams/core/errors.ts';
import type { LearnerParameters } from '../../streams/core/learning.ts';
import type { Config } from '../config/descriptors.ts';

/** The hyperparameters of an update. */
export interface Hyper {
  readonly algorithm: Config['algorithm'];
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** Decoupled weight decay: each step shrinks a weight by learningRate x weightDecay of its value. */
  readonly weightDecay: number;
  /** Maximum norm of the gradient over all weights. */
  readonly maxGradNorm: number;
  /** Loss reduction per nat of entropy. */
  readonly entropyBonus: number;
  /** GRPO: the ratio to the policy before the update is clipped to 1 ± clip. */
  readonly clip: number;
  /** Maximum behavior weight: GRPO drops a decision above it, REINFORCE clips the weight. */
  readonly behaveCap: number;
  /** GRPO: passes over the batch; with one minibatch, every ratio of the first pass is 1. */
  readonly epochs: number;
  /** GRPO: number of minibatches, each with its own gradient step. */
  readonly minibatches: number;
  /** REINFORCE: discount factor per turn. */
  readonly discount: number;
  /** REINFORCE: above 0, the buffer keeps and samples whole trajectories; at 0 (runs that did not record the setting), single decisions. */
  readonly replayTrajectories: number;
  /** REINFORCE: capacity of the buffer, in trajectories (or decisions). */
  readonly replayCapacity: number;
  /** REINFORCE: capacity of the buffer, in bytes; 0 is no limit. */
  readonly replayBytes: number;
  /** REINFORCE: trajectories (or decisions) per batch, which is one gradient step. */
  readonly replaySample: number;
  /** REINFORCE: batches per update. */
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

/** Values for runs that did not record these settings, instead of the defaults. */
const unrecorded = { replayTrajectories: 0, replayBytes: 0 };

/** Settings that some unreleased builds recorded, with the value that turned them off. */
const withdrawn: LearnerParameters = { entropyTarget: 0 };

const learningRates: Readonly<Record<Config['algorithm'], number>> = { grpo: 0.003, reinforce: 1e-5 };

/** Defaults of the algorithm, overridden by `changes`. A learning rate of 0 selects that of the algorithm. */
export function hyperOf(algorithm: Config['algorithm'], wanted: number, changes: Partial<Hyper> = {}): Hyper {
  const learningRate = wanted > 0 ? wanted : learningRates[algorithm];
  return { ...shared, weightDecay: algorithm === 'reinforce' ? 0.01 : 0, ...changes, algorithm, learningRate };
}

/** The hyperparameters as recorded: all of them, including defaults. */
export const parametersOf = (hyper: Hyper): LearnerParameters => ({ ...hyper });

const isAlgorithm = (name: unknown): name is Config['algorithm'] => typeof name === 'string' && name in learningRates;

/**
 * Parses recorded hyperparameters; throws RUN_CONFLICT when this version cannot use them. Missing ones get the values of `unrecorded`, or
 * else the defaults.
 */
export function hyperFrom(recorded: LearnerParameters): Hyper {
  const { algorithm, ...others } = recorded;
  const numbers = Object.fromEntries(Object.entries(others).filter(([name, value]) => withdrawn[name] !== value));
  const refuse = (name: string): PlatformError =>
    new PlatformError(
      'RUN_CONFLICT',
      `resuming with the recorded hyperparameters: this version does not support ${name} of ${String(recorded[name])}; use the version that the run was started with`,
    );
  if (!isAlgorithm(algorithm)) throw refuse('algorithm');
  const defaults = hyperOf(algorithm, 0);
  for (const [name, value] of Object.entries(numbers)) {
    if (!(name in defaults) || typeof value !== 'number' || !Number.isFinite(value)) throw refuse(name);
  }
  return { ...defaults, ...unrecorded, ...(numbers as Partial<Hyper>), algorithm };
}
