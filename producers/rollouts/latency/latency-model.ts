// A MODEL of how long generations and tools take, for measuring asynchrony on one machine: it makes an instant policy and instant tools as
// slow as those of a large model. Its delays say nothing about real latencies.
//
// Delays are log-normal. The generation time is drawn once per trajectory and applies to all of its turns: that makes trajectories differ
// by orders of magnitude, and it determines how long a batch waits for its slowest one. With a deviation of 0.75, the slowest of the 2,048
// trajectories of an ASearcher batch (128 questions x 16) takes ten times the mean, as its published curves of generated tokens show (mean
// 20,000, most 200,000). Each tool call is drawn separately. The draws for generations come from the random numbers of the attempt, which
// are the same wherever it runs.
import type { Policy, Tool } from '../../../streams/core/agents.ts';
import { createRandom, deriveSeed } from '../../../streams/core/random.ts';

export interface LatencyModel {
  /** Mean generation time of a turn, ms. */
  readonly generationMs: number;
  /** Mean time of a tool call, ms. */
  readonly toolMs: number;
  /** Standard deviation of the logarithm, for both. */
  readonly sigma: number;
}

/** Resolves after `ms`, or as soon as the signal aborts. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** A log-normal number with the mean 1. */
export function logNormalOfMeanOne(random: () => number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.exp(sigma * normal - (sigma * sigma) / 2);
}

/** The policy, delayed: each turn waits for its modeled generation time before it is decided. */
export function slowPolicy(policy: Policy, { generationMs, sigma }: LatencyModel, wait: Wait): Policy {
  /** Keyed by the random function of an attempt, which all of its turns share. */
  const factors = new WeakMap<() => number, number>();
  return {
    name: policy.name,
    async decide(observation, options) {
      const factor = factors.get(options.random) ?? logNormalOfMeanOne(options.random, sigma);
      factors.set(options.random, factor);
      await wait(generationMs * factor, options.signal);
      return policy.decide(observation, options);
    },
  };
}

/** The tool, delayed by the modeled time of each call; its results are unchanged. */
export function slowTool(tool: Tool, { toolMs, sigma }: LatencyModel, wait: Wait): Tool {
  const random = createRandom(deriveSeed(tool.name, 0));
  return {
    ...tool,
    async call(argument, signal) {
      await wait(toolMs * logNormalOfMeanOne(random, sigma), signal);
      return tool.call(argument, signal);
    },
  };
}
