// The ranker decides turns, with the policy versions that the trainer of the run publishes.
import { createRankerPolicy } from '../../../../producers/rollouts/policies/ranker/ranker.ts';
import { createPolicyVersions } from '../../../../producers/rollouts/worker/policy-versions.ts';
import { loadBackend } from '../../../tfjs/backend.ts';
import { createScorerFactory } from '../../../tfjs/scorer.ts';
import type { LogConnection } from '../../open/connections.ts';
import type { Deciding } from './deciding.ts';
import type { RoleContext } from '../role.ts';
import { readWeights } from '../weights.ts';

export interface RankerParts {
  readonly context: RoleContext;
  readonly run: string;
  readonly log: LogConnection;
  /** Called when the versions of the run can no longer be followed. */
  readonly onFailure: (error: unknown) => void;
}

/** Loads the tensor backend. */
export async function rankerDeciding({ context, run, log, onFailure }: RankerParts): Promise<Deciding> {
  const { config, logger, report } = context;
  report({ state: 'starting', detail: 'loading the tensor backend', figures: {} });
  const factory = createScorerFactory(await loadBackend(config.backend, logger));
  const listeners = new Set<(version: number) => void>();
  const versions = createPolicyVersions({
    ...{
      runId: run,
      log: log.kafka.reader(),
      index: log.kafka.runs,
      reader: log.events,
      factory,
      logger,
      fetchWeights: readWeights,
      onNewest: (version) => {
        for (const listener of listeners) listener(version);
      },
      onFailure,
    },
  });
  return {
    policy: createRankerPolicy(versions),
    newestVersion: () => versions.newest(),
    onNewest: (listener) => void listeners.add(listener),
    start(signal) {
      report({ state: 'waiting', detail: 'for the first policy of the run', figures: {} });
      return versions.start(signal);
    },
    close: () => versions.close(),
  };
}
