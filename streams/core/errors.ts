// The errors of all parts. Their codes are in error-table.ts.
import { errorTable, type ErrorKind } from './error-table.ts';

export type ErrorCode = keyof typeof errorTable;

export const errorCodes: Readonly<Record<ErrorCode, ErrorKind>> = errorTable;

/** One class, many codes: callers branch on `code`, humans read `message`. */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  readonly code: ErrorCode;
  readonly retriable: boolean;
  readonly context: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: { context?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retriable = errorCodes[code].retriable;
    this.context = Object.freeze({ ...options.context });
  }
}

export const isErrorCode = (value: unknown): value is ErrorCode => typeof value === 'string' && Object.hasOwn(errorCodes, value);

export const isPlatformError = (value: unknown, code?: ErrorCode): value is PlatformError =>
  value instanceof Error && 'code' in value && isErrorCode(value.code) && (code === undefined || value.code === code);

/** The message of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
