// The ranker decides turns, with the policy versions that the trainer of the run publishes.
import { createRankerPolicy } from '../../../../producers/rollouts/policies/ranker/ranker.ts';
import { createPolicyVersions } from '../../../../producers/rollouts/worker/policy-versions.ts';
import { loadBackend } from '../../../tfjs/backend.ts';
import { createScorerFactory } from '../../../tfjs/scorer.ts';
import type { LogConnection } from '../../open/connections.ts';
import type { Deciding } from './deciding.ts';
import type { Notices } from '../notices.ts';
import type { RoleContext } from '../role.ts';
import { weightsElsewhere } from '../weights-elsewhere.ts';

export interface RankerParts {
  readonly context: RoleContext;
  readonly run: string;
  readonly log: LogConnection;
  readonly tell: Notices['tell'];
  /** Called when the versions of the run can no longer be followed. */
  readonly onFailure: (error: unknown) => void;
}

/** Loads the tensor backend. */
export async function rankerDeciding({ context, run, log, tell, onFailure }: RankerParts): Promise<Deciding> {
  const { config, logger, metrics, report } = context;
  report({ state: 'starting', detail: 'loading the tensor backend', figures: {} });
  const factory = createScorerFactory(await loadBackend(config.backend, logger));
  const listeners = new Set<(version: number) => void>();
  const weights = weightsElsewhere(config, run);
  let refused = -1;
  const versions = createPolicyVersions({
    ...{
      runId: run,
      log: log.kafka.reader(),
      index: log.kafka.runs,
      reader: log.events,
      factory,
      logger,
      fetchWeights: (uri) => weights.read(uri),
      onNewest: (version) => {
        if (version >= refused) tell('');
        for (const listener of listeners) listener(version);
      },
      onRefused: (version, { code, message }) => {
        metrics.count('policy_refused_total', { code });
        if (version < versions.newest()) return;
        refused = version;
        tell(`policy version ${version} is not used: ${message}`);
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
    async close() {
      await versions.close();
      await weights.close();
    },
  };
}
