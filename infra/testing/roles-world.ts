// A log and a store for role processes that are started with `turnstream <role>`.
import { prepareLog, prepareStore } from '../app/open/prepare.ts';
import type { Config } from '../config/descriptors.ts';
import { loadConfig } from '../config/load.ts';
import { silentLogger } from './logger.ts';
import { startRole, type RoleProcess } from './role-process.ts';
import { sharedHome } from './shared-home.ts';

export interface RolesWorld {
  /** All settings that a role sees. */
  readonly env: Readonly<Record<string, string>>;
  readonly config: Config;
  /** Starts `turnstream <args>`; `extra` are settings of this process only. */
  start(extra: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<RoleProcess>;
  /** Roles that have not ended. */
  running(): readonly RoleProcess[];
  /** Kills the running roles. */
  killRoles(): Promise<void>;
  /** Kills the roles and removes the store and the data. */
  close(): Promise<void>;
}

/** Creates topics and tables; groups of four trajectories, a batch of one group, on the CPU. Call it in `beforeAll`. */
export async function openRolesWorld(settings: Readonly<Record<string, string>>): Promise<RolesWorld> {
  const home = await sharedHome({
    TURNSTREAM_BACKEND: 'cpu',
    TURNSTREAM_GROUP_SIZE: '4',
    TURNSTREAM_BATCH_GROUPS: '1',
    TURNSTREAM_HEARTBEAT_MS: '300',
    ...settings,
  });
  const { env } = home;
  const config = loadConfig(env);
  await Promise.all([prepareLog(config, silentLogger), prepareStore(config)]);
  const roles = new Set<RoleProcess>();
  const killRoles = async (): Promise<void> => {
    for (const role of roles) role.signal('SIGKILL');
    await Promise.all([...roles].map((role) => role.exited));
  };
  return {
    env,
    config,
    async start(extra, ...args) {
      const role = await startRole({ ...env, ...extra }, ...args);
      roles.add(role);
      void role.exited.then(() => roles.delete(role));
      return role;
    },
    running: () => [...roles],
    killRoles,
    async close() {
      await killRoles();
      await home.remove();
    },
  };
}
