// The policy that decides the turns of a worker, with everything that it needs. worker.ts refers to no policy by name.
import type { Policy } from '../../../../streams/core/agents.ts';
import type { Memory } from '../../../../producers/rollouts/agent/run-agent.ts';

export interface Deciding {
  readonly policy: Policy;
  readonly memory?: Memory;
  /** Newest version of the policy, -1 = none known. */
  newestVersion(): number;
  /** Calls `listener` with each newer version, if the policy can follow versions. */
  onNewest?(listener: (version: number) => void): void;
  /** Resolves when a turn can be decided. */
  start(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
