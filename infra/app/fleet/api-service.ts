// The API as a supervised service. Its port is chosen at each start of its process: the configured one or, after a restart, the last one;
// if another program has it, the port that this data directory used before, or else a free one. Two instances that start at the same moment
// may both find a port free; the one that fails to bind it picks another.
import { isPlatformError } from '../../../streams/core/errors.ts';
import type { Config } from '../../config/descriptors.ts';
import { portIsFree } from '../../lifecycle/net.ts';
import { rememberedPort } from '../open/local-ports.ts';
import type { RoleService } from './role-services.ts';

export interface ApiServiceOptions {
  readonly config: Pick<Config, 'dataDir' | 'apiHost' | 'apiPort'>;
  /** Reads the port from its environment when it starts. */
  readonly role: RoleService;
  /** Only the configured port is acceptable. */
  readonly fixed: boolean;
  /** Called before the process starts if its port has changed, with the new port and the default port if that was taken. */
  readonly onPort: (port: number, taken: number | undefined) => void;
}

export function apiService({ config, role, fixed, onPort }: ApiServiceOptions): RoleService {
  const isFixed = fixed && config.apiPort !== 0;
  let port = 0;
  async function choose(): Promise<void> {
    const wanted = port === 0 ? config.apiPort : port;
    const chosen =
      isFixed || (wanted !== 0 && (await portIsFree(config.apiHost, wanted))) ? wanted : await rememberedPort(config.dataDir, 'api');
    if (chosen === port) return;
    port = chosen;
    onPort(port, config.apiPort !== 0 && port !== config.apiPort ? config.apiPort : undefined);
  }
  return {
    ...role,
    async launch(signal) {
      await choose();
      return role.launch(signal);
    },
    judge: (exit) => (!isFixed && isPlatformError(role.failure(), 'PORT_IN_USE') ? 'restart' : role.judge(exit)),
  };
}

/** The port of an API that runs alone: the configured one if it is free; else the previous one of this data directory, or any free one. */
export async function freeApiPort({ dataDir, apiHost, apiPort }: ApiServiceOptions['config']): Promise<number> {
  if (apiPort === 0 || (await portIsFree(apiHost, apiPort))) return apiPort;
  return rememberedPort(dataDir, 'api');
}

/** The address for clients on this machine. */
export function apiUrlOf(apiHost: string, port: number): string {
  const host = ['0.0.0.0', '::'].includes(apiHost) ? '127.0.0.1' : apiHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
