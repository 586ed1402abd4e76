// What the API tells of every service of an `up`: the newest report of each, and what its supervisor did since.
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import type { ServiceHealth, ServiceState } from '../../telemetry/health.ts';
import type { SupervisorEvent } from './service.ts';

export interface ServiceBoard {
  /** Answers whether it changed anything but figures. */
  status(service: string, status: RoleStatus): boolean;
  event(event: SupervisorEvent): void;
  /** The service ended because its work is done. */
  finished(service: string): void;
  services(): readonly ServiceHealth[];
}

/** Services that report nothing are live once they have started: their supervisor waits until they answer. */
const SILENT: ReadonlySet<string> = new Set(['kafka', 'store']);

const stateAfter = { exited: 'restarting', restarting: 'restarting', stopped: 'stopped', killed: 'stopped' } as const;

export function createServiceBoard(nowMs: () => number): ServiceBoard {
  const services = new Map<string, ServiceHealth>();

  function put(name: string, state: ServiceState, detail: string): boolean {
    const known = services.get(name) ?? { name, state: undefined, detail: '', restarts: 0, sinceMs: 0 };
    const sinceMs = known.state === state ? known.sinceMs : nowMs();
    services.set(name, { name, state, detail, restarts: known.restarts, sinceMs });
    return known.state !== state || known.detail !== detail;
  }

  function restarted(name: string): void {
    const known = services.get(name);
    if (known !== undefined) services.set(name, { ...known, restarts: known.restarts + 1 });
  }

  return {
    status: (name, { state, detail }) => put(name, state, detail),
    event({ kind, service, detail }) {
      if (kind === 'restarting') restarted(service);
      // why it ended is worth more than when it is tried again
      const kept = kind === 'restarting' ? (services.get(service)?.detail ?? detail) : detail;
      if (kind === 'started') put(service, SILENT.has(service) ? 'live' : 'starting', '');
      else put(service, stateAfter[kind], kept);
    },
    finished: (name) => void put(name, 'finished', ''),
    services: () => [...services.values()],
  };
}
