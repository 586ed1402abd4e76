// Errors of the registry routes in Confluent's format and with Confluent's codes.
import { isPlatformError } from '../../streams/core/errors.ts';
import { COMPATIBILITY } from './registry.schemas.ts';

/** A 4xx error in Confluent's format. */
export class RegistryError extends Error {
  readonly status: number;
  readonly errorCode: number;
  constructor(status: number, errorCode: number, message: string) {
    super(message);
    this.status = status;
    this.errorCode = errorCode;
  }
}

export const noSubject = (subject: string): RegistryError => new RegistryError(404, 40401, `Subject '${subject}' not found.`);
export const noVersion = (version: string | number): RegistryError => new RegistryError(404, 40402, `Version ${version} not found.`);
export const noSchema = (what: string): RegistryError => new RegistryError(404, 40403, `Schema ${what} not found`);

/** Undefined for errors that only our own error mapper handles: keys, outages, bugs. */
export function confluentError(error: unknown): RegistryError | undefined {
  if (error instanceof RegistryError) return error;
  if (isPlatformError(error, 'SCHEMA_INVALID')) return new RegistryError(422, 42201, error.message);
  if (isPlatformError(error, 'SCHEMA_INCOMPATIBLE')) return new RegistryError(409, 409, error.message);
  if (isPlatformError(error, 'SCHEMA_NOT_FOUND')) return new RegistryError(404, 40403, error.message);
  if (isPlatformError(error, 'REGISTRY_UNAVAILABLE'))
    return new RegistryError(503, 50003, 'The schema registry is unavailable at the moment.');
  if (error instanceof Error && 'validation' in error) return describeInvalid(error);
  return undefined;
}

/** Invalid query parameters are rejected in our own format, as everywhere else. */
function describeInvalid(error: Error & { readonly validationContext?: unknown }): RegistryError | undefined {
  if (error.validationContext === 'querystring') return undefined;
  const level = error.message.startsWith('body/compatibility ');
  return level
    ? new RegistryError(422, 42203, `Invalid compatibility level. Every subject here is ${COMPATIBILITY}.`)
    : new RegistryError(422, 42201, error.message);
}
