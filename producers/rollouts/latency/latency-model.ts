// A MODEL of how long generations and tools take, for measuring asynchrony on one machine: it makes a policy and tools that
// answer at once as slow as those of a large model would be. Nothing that it delays says anything about a real latency.
//
// Delays are log-normal. What a trajectory's generations take is drawn once a trajectory and multiplies all of its turns:
// that is what makes trajectories differ by orders of magnitude, and what a batch that waits for its slowest waits for.
// With a deviation of 0.75 the slowest of the 2,048 trajectories of a batch of ASearcher (128 questions x 16) takes ten
// times the mean, as its published curves of generated tokens show (mean 20,000, most 200,000). Each tool call is drawn by
// itself. The draws of a generation come from the random numbers of the attempt, which has the same ones wherever it runs.
import type { Policy, Tool } from '../../../streams/core/agents.ts';
import { createRandom, deriveSeed } from '../../../streams/core/random.ts';

export interface LatencyModel {
  /** Mean of the generation of a turn, ms. */
  readonly generationMs: number;
  /** Mean of a tool call, ms. */
  readonly toolMs: number;
  /** Deviation of the logarithm, of both. */
  readonly sigma: number;
}

/** Resolves after so long, or as soon as the signal aborts. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** A log-normal number with the mean 1. */
export function logNormalOfMeanOne(random: () => number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.exp(sigma * normal - (sigma * sigma) / 2);
}

/** The policy, each of whose turns takes as long as the model says before it is decided. */
export function slowPolicy(policy: Policy, { generationMs, sigma }: LatencyModel, wait: Wait): Policy {
  /** By the random numbers of an attempt, which are one function for all of its turns. */
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

/** The tool, each of whose calls takes as long as the model says; the answer itself is the tool's. */
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
