// Health in words that a person and a probe share: what each role does now, and which of them are not ready and why.
import type { RoleState, RoleStatus } from '../../streams/core/telemetry.ts';

/** What a service may be beside the states of its role: its process is gone and comes back, or has ended for good. */
export type ServiceState = RoleState | 'restarting' | 'stopped' | 'finished';

/** One service as its supervisor sees it. */
export interface ServiceHealth {
  readonly name: string;
  readonly state: ServiceState;
  /** What it waits for, or why it failed; empty when there is nothing to say. */
  readonly detail: string;
  readonly restarts: number;
  /** When it came into this state, ms since the epoch. */
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

/** Why this service is not ready, e.g. `warehouse waits: connecting to …`; undefined when it is. */
export function unready(service: Omit<ServiceHealth, 'restarts'>, nowMs: number): string | undefined {
  const { name, state, detail, sinceMs } = service;
  if (state === 'live' || state === 'finished') return undefined;
  const text = `${name} ${words[state]}${detail === '' ? '' : `: ${detail}`}`;
  if (state !== 'catching_up') return text;
  const lastedMs = nowMs - sinceMs;
  return lastedMs <= CATCHING_UP_MS ? undefined : `${text}, for ${Math.round(lastedMs / 1_000)} s`;
}

/** Everything that is not ready, in words. */
export const unreadyAmong = (services: readonly ServiceHealth[], nowMs: number): readonly string[] =>
  services.flatMap((service) => unready(service, nowMs) ?? []);

/** The state of a process whose dependencies were asked just now. */
export function withDependencies(status: RoleStatus, down: readonly string[]): RoleStatus {
  if (down.length === 0 || status.state !== 'live') return status;
  return { ...status, state: 'waiting', detail: `for ${down.join(' and ')}` };
}
