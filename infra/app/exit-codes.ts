// Exit codes that scripts and the supervisor rely on.
import { isPlatformError, type ErrorCode } from '../../streams/core/errors.ts';

export const exitCodes = {
  ok: 0,
  /** A check failed, or an unexpected error. */
  failed: 1,
  /** Usage, configuration or environment: a person has to change something first. */
  usage: 2,
  /** Another trainer of the same run took over. */
  fenced: 3,
  /** A supervised role was asked to stop, and did. */
  stopped: 143,
  /** Stopped before it was finished. */
  interrupted: 130,
} as const;

const NEEDS_A_PERSON: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CONFIG_INVALID',
  'USAGE_INVALID',
  'TOOLCHAIN_MISSING',
  'PORT_IN_USE',
  'DATA_DIR_IN_USE',
  'DATA_DIR_UNUSABLE',
  'DISK_FULL',
  'KAFKA_UNAVAILABLE',
  'STORE_UNAVAILABLE',
  'REGISTRY_UNAVAILABLE',
  'TOPIC_MISMATCH',
  'RUN_CONFLICT',
  'RUN_FINISHED',
  'BACKEND_UNAVAILABLE',
  'SCHEMA_INCOMPATIBLE',
  'MIGRATION_MISMATCH',
  'QUESTIONS_INVALID',
  'NOT_FOUND',
  'EVALUATIONS_UNRELATED',
]);

/** The exit code of a program that ends with this error. */
export function exitCodeOf(error: unknown): number {
  if (!isPlatformError(error)) return exitCodes.failed;
  if (error.code === 'PRODUCER_FENCED') return exitCodes.fenced;
  return NEEDS_A_PERSON.has(error.code) ? exitCodes.usage : exitCodes.failed;
}
