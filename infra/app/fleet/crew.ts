// The roles of a fleet, as services of its supervisor. Their reports go to the progress; their health and metrics go to the API, which
// serves them.
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import type { RoleName } from '../../config/secrets.ts';
import type { ProcessEnv } from '../../lifecycle/inherited-env.ts';
import type { MetricsMessage } from '../messages.ts';
import type { FleetProgress } from './progress.ts';
import { roleService, type RoleService, type RoleServiceOptions } from './role-services.ts';
import type { SupervisorEvent } from './service.ts';
import type { Supervised, Supervisor } from './supervisor.ts';

type RoleParts = Pick<RoleServiceOptions, 'name' | 'tier' | 'args' | 'onSuccess'> & { readonly role: RoleName };

export interface CrewOptions {
  readonly program: string;
  readonly logOf: (child: string) => number;
  readonly env: (role: RoleName) => ProcessEnv;
  readonly progress: FleetProgress;
  readonly onChange: (kind: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly onStatus: (name: string, status: RoleStatus) => void;
}

export interface Crew {
  /** Creates a role that is not supervised yet, with `extra` added to its environment. */
  role(parts: RoleParts, extra?: Readonly<Record<string, string>>): RoleService;
  /** Hands it over to the supervisor. */
  supervise(service: RoleService): Supervised;
  add(parts: RoleParts): Supervised;
  /** Takes a report of a role, or of `up` itself. */
  status(name: string, status: RoleStatus): void;
  event(event: SupervisorEvent): void;
  passMetrics(message: MetricsMessage): void;
  /** The service ended because its work is done. */
  finished(name: string): void;
  /** Restarts every role. */
  bounce(): void;
}

/** `supervisor` is called when the first role is added. */
export function createCrew(options: CrewOptions, supervisor: () => Supervisor): Crew {
  const { progress } = options;
  const roles = new Map<string, { readonly service: RoleService; readonly supervised: Supervised }>();

  /** Sends changes to the API, and the full state when the API restarts. */
  function shareHealth(): void {
    roles.get('api')?.service.pass({ type: 'health', services: progress.health() });
  }

  function status(name: string, told: RoleStatus): void {
    if (progress.status(name, told) || name === 'api') shareHealth();
    options.onChange('status', { service: name, ...told });
    if (told.state === 'live' || told.state === 'incomplete') roles.get(name)?.supervised.healthy();
    options.onStatus(name, told);
  }

  function passMetrics(message: MetricsMessage): void {
    if (message.role !== 'api') roles.get('api')?.service.pass(message);
  }

  const crew: Crew = {
    role: (parts, extra = {}) =>
      roleService({
        ...parts,
        program: options.program,
        log: options.logOf(parts.name),
        env: () => ({ ...options.env(parts.role), ...extra }),
        onStatus: (told) => {
          status(parts.name, told);
        },
        onMetrics: passMetrics,
      }),
    supervise(service) {
      const supervised = supervisor().add(service);
      roles.set(service.name, { service, supervised });
      return supervised;
    },
    add: (parts) => crew.supervise(crew.role(parts)),
    status,
    passMetrics,
    event(event) {
      progress.event(event);
      shareHealth();
    },
    finished(name) {
      progress.finished(name);
      shareHealth();
    },
    bounce() {
      for (const { supervised } of roles.values()) supervised.bounce();
    },
  };
  return crew;
}
