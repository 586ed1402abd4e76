// Health in a form that people and probes share: what each role does now, and which roles are not ready and why.
import type { RoleState, RoleStatus } from '../../streams/core/telemetry.ts';

/** The state of a service: that of its role, or its process is restarting or has ended for good. */
export type ServiceState = RoleState | 'restarting' | 'stopped' | 'finished';

/** One service from the supervisor's point of view. */
export interface ServiceHealth {
  readonly name: string;
  readonly state: ServiceState;
  /** What it waits for, or why it failed; may be empty. */
  readonly detail: string;
  readonly restarts: number;
  /** When it entered this state, ms since the epoch. */
  readonly sinceMs: number;
}

/** How long a role may be catching up and still count as ready, ms. */
export const CATCHING_UP_MS = 60_000;

const words: Readonly<Record<ServiceState, string>> = {
  starting: 'is starting',
  catching_up: 'is catching up',
  live: 'is live',
  incomplete: 'works, but records are missing',
  waiting: 'waits',
  stopping: 'is stopping',
  failed: 'has failed',
  restarting: 'is being started again',
  stopped: 'has stopped',
  finished: 'is finished',
};

/** Why this service is not ready, e.g. `warehouse waits: connecting to …`; undefined when it is ready. */
export function unready(service: Omit<ServiceHealth, 'restarts'>, nowMs: number): string | undefined {
  const { name, state, detail, sinceMs } = service;
  if (state === 'live' || state === 'finished') return undefined;
  const text = `${name} ${words[state]}${detail === '' ? '' : `: ${detail}`}`;
  if (state !== 'catching_up') return text;
  const lastedMs = nowMs - sinceMs;
  return lastedMs <= CATCHING_UP_MS ? undefined : `${text}, for ${Math.round(lastedMs / 1_000)} s`;
}

/** Every service that is not ready, with its reason. */
export const unreadyAmong = (services: readonly ServiceHealth[], nowMs: number): readonly string[] =>
  services.flatMap((service) => unready(service, nowMs) ?? []);

/** The state of a process after a check of its dependencies. */
export function withDependencies(status: RoleStatus, down: readonly string[]): RoleStatus {
  if (down.length === 0 || status.state !== 'live') return status;
  return { ...status, state: 'waiting', detail: `for ${down.join(' and ')}` };
}
