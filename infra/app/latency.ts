// The latency model of a worker, when one is configured: it says so in the log and in the id of the worker, which every
// record of its trajectories carries.
import { slowPolicy, slowTool, type LatencyModel } from '../../producers/rollouts/latency/latency-model.ts';
import type { Policy, Tool } from '../../streams/core/agents.ts';
import type { RoleContext } from './role.ts';

export interface Acting {
  readonly policy: Policy;
  readonly tools: readonly Tool[];
  /** For the end of the id of the worker; empty without a model. */
  readonly mark: string;
}

/** The policy and the tools as fast as they are, or as slow as the model makes them. */
export function actingAs({ config, logger }: Pick<RoleContext, 'config' | 'logger'>, policy: Policy, tools: readonly Tool[]): Acting {
  if (config.latencyModel === 'none') return { policy, tools, mark: '' };
  const model: LatencyModel = { generationMs: config.latencyGenerationMs, toolMs: config.latencyToolMs, sigma: config.latencySigma };
  logger.warn({ ...model }, 'latencies are those of a log-normal model: no time that is recorded was measured');
  return { policy: slowPolicy(policy, model), tools: tools.map((tool) => slowTool(tool, model)), mark: '-latency-model' };
}
