// The environment of a role under `up`: its settings, its secrets, and what it needs from the user's environment.
import type { Config } from '../../config/descriptors.ts';
import { settingsFor, type RoleName } from '../../config/secrets.ts';
import { inheritedEnv, type ProcessEnv } from '../../lifecycle/inherited-env.ts';

const OURS = /^(TURNSTREAM_|KAFKA_BROKERS$|CLICKHOUSE_URL$|SCHEMA_REGISTRY_URL$)/;

/** `parent` is the environment of `up`. */
export const roleEnv = (role: RoleName, config: Config, parent: ProcessEnv): ProcessEnv => ({
  ...inherited(role, config, parent),
  ...settingsFor(role, config),
});

function inherited(role: RoleName, { policy, toolsModule }: Config, parent: ProcessEnv): ProcessEnv {
  if (role === 'store') return inheritedEnv('alone', parent);
  // A user's own module may read any variable.
  const runsOwnModule = role === 'worker' && (policy === 'module' || toolsModule !== '');
  if (!runsOwnModule) return inheritedEnv('connected', parent);
  return Object.fromEntries(Object.entries(parent).filter(([name]) => !OURS.test(name)));
}
