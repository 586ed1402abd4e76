// Applies the configured latency model to a worker or a trainer. Its use is logged, and the worker's id has a suffix for it, so that every
// record of its trajectories shows it.
import { createEngine } from '../../../producers/rollouts/latency/engine.ts';
import { slowPolicy, slowTool, type LatencyModel } from '../../../producers/rollouts/latency/latency-model.ts';
import type { Policy, Tool } from '../../../streams/core/agents.ts';
import type { Learner } from '../../../streams/core/learning.ts';
import { pause } from '../../lifecycle/waiting.ts';
import type { RoleContext } from './role.ts';

export interface Acting {
  readonly policy: Policy;
  readonly tools: readonly Tool[];
  /** Suffix of the worker id; empty without a model. */
  readonly mark: string;
}

/** The policy and the tools, slowed down to the latencies of the model. */
export function actingAs({ config, logger }: Pick<RoleContext, 'config' | 'logger'>, policy: Policy, tools: readonly Tool[]): Acting {
  if (config.latencyModel === 'none') return { policy, tools, mark: '' };
  const model: LatencyModel = { generationMs: config.latencyGenerationMs, toolMs: config.latencyToolMs, sigma: config.latencySigma };
  const load = config.latencyLoad;
  logger.warn({ ...model, load }, 'latencies are those of a log-normal model: no time that is recorded was measured');
  return {
    policy: load > 0 ? slowPolicy(policy, model, createEngine(load)) : slowPolicy(policy, model, pause),
    tools: tools.map((tool) => slowTool(tool, model, pause)),
    mark: '-latency-model',
  };
}

/** The learner, slowed down so that each step takes at least the configured time; `trainMs` is the longer of that and the measured time. */
export function learningAs({ config, logger }: Pick<RoleContext, 'config' | 'logger'>, learner: Learner): Learner {
  const { latencyModel, latencyTrainMs: trainMs } = config;
  if (latencyModel === 'none' || trainMs === 0) return learner;
  logger.warn({ trainMs }, 'training steps take as long as a model says: their times were not measured');
  return {
    ...learner,
    async train(batch) {
      const [trained] = await Promise.all([learner.train(batch), pause(trainMs)]);
      return { ...trained, trainMs: Math.max(trained.trainMs, trainMs) };
    },
  };
}
