// Exit codes that scripts and the supervisor rely on.
import { errorCodes, isPlatformError } from '../../streams/core/errors.ts';

export const exitCodes = {
  ok: 0,
  /** A check failed, or an unexpected error. */
  failed: 1,
  /** Usage, configuration or environment: a person has to fix something first. */
  usage: 2,
  /** Another trainer of the same run took over. */
  fenced: 3,
  /** A supervised role stopped on request. */
  stopped: 143,
  /** Stopped before it was done. */
  interrupted: 130,
} as const;

/** The exit code for a program that ends with this error. */
export const exitCodeOf = (error: unknown): number =>
  exitCodes[isPlatformError(error) ? (errorCodes[error.code].exit ?? 'failed') : 'failed'];
