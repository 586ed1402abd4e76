// Messages between a role process and its supervisor over the IPC channel.
import type { StatusMessage } from '../telemetry/status.ts';
import { parseStatusMessage } from '../telemetry/status.ts';
import type { ServiceHealth } from '../telemetry/health.ts';
import type { MetricsSnapshot } from '../telemetry/metrics.ts';

/** Why a role process is about to exit. */
export interface FailedMessage {
  readonly type: 'failed';
  readonly code: string;
  readonly message: string;
}

/** The metrics of one process, sent every few seconds. */
export interface MetricsMessage {
  readonly type: 'metrics';
  readonly role: string;
  readonly metrics: MetricsSnapshot;
}

export type FromRole = StatusMessage | FailedMessage | MetricsMessage;

/** Parses a message of a role process; undefined for anything else. */
export function parseFromRole(message: unknown): FromRole | undefined {
  if (typeof message !== 'object' || message === null || !('type' in message)) return undefined;
  if (message.type === 'failed' && 'message' in message && typeof message.message === 'string') return message as FailedMessage;
  return parseMetricsMessage(message) ?? parseStatusMessage(message);
}

/** Parses metrics that the supervisor forwards to the API. */
export function parseMetricsMessage(message: unknown): MetricsMessage | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const candidate = message as Partial<MetricsMessage>;
  const fits = candidate.type === 'metrics' && typeof candidate.role === 'string' && Array.isArray(candidate.metrics);
  return fits ? (message as MetricsMessage) : undefined;
}

/** The health of all services, which the supervisor forwards to the API. */
export interface HealthMessage {
  readonly type: 'health';
  readonly services: readonly ServiceHealth[];
}

/** Parses the health of all services; undefined for anything else. */
export function parseHealthMessage(message: unknown): HealthMessage | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const candidate = message as Partial<HealthMessage>;
  return candidate.type === 'health' && Array.isArray(candidate.services) ? (message as HealthMessage) : undefined;
}
