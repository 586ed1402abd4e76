// The response for an error: application/problem+json with a code of the error table. No detail of an unknown error leaves the process; the
// log has it under the request id.
import { errorCodes, isPlatformError, type ErrorCode } from '../../streams/core/errors.ts';

/** RFC 9457, with our code, the request id, and, for invalid input, the invalid fields. */
interface ProblemDetails {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly request_id: string;
  readonly errors?: readonly { readonly parameter: string; readonly message: string }[];
  /** The version that a trainer must restore; only with LINEAGE_MISMATCH. */
  readonly restore?: unknown;
}

export interface ProblemResponse {
  readonly problem: ProblemDetails;
  readonly headers: Readonly<Record<string, string>>;
  /** True if the error is a failure of the server and must be logged. */
  readonly unexpected: boolean;
}

interface ProblemDescription {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors?: ProblemDetails['errors'];
  readonly headers?: Readonly<Record<string, string>>;
  readonly unexpected?: true;
}

/** Total: every thrown value has a response. `parameters` are the query parameters of the route. */
export function answerOf(error: unknown, requestId: string, parameters?: readonly string[]): ProblemResponse {
  const described = describe(error, parameters);
  const { httpStatus: status, help } = errorCodes[described.code];
  const title = help.slice(0, help.indexOf('. ') + 1 || undefined);
  return {
    problem: {
      type: `urn:turnstream:error:${described.code}`,
      title,
      status,
      detail: described.detail,
      code: described.code,
      request_id: requestId,
      ...(described.errors === undefined ? {} : { errors: described.errors }),
      ...membersOf(error),
    },
    headers: { ...retryHeaders(status, error), ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}), ...described.headers },
    unexpected: described.unexpected === true,
  };
}

/** Additional members of a problem document. */
function membersOf(error: unknown): Pick<ProblemDetails, 'restore' | 'errors'> {
  const errors = isPlatformError(error, 'REQUEST_INVALID') ? error.context['errors'] : undefined;
  if (errors !== undefined) return { errors: errors as NonNullable<ProblemDetails['errors']> };
  const restore = isPlatformError(error, 'LINEAGE_MISMATCH') ? error.context['restore'] : undefined;
  return restore === undefined ? {} : { restore };
}

const RETRY_SECONDS = 2;

function retryHeaders(status: number, error: unknown): Record<string, string> {
  if (status !== 503 && status !== 429) return {};
  const known = isPlatformError(error) ? error.context['retryAfterSeconds'] : undefined;
  return { 'retry-after': String(typeof known === 'number' ? known : RETRY_SECONDS) };
}

function describe(error: unknown, parameters: readonly string[] | undefined): ProblemDescription {
  if (isPlatformError(error)) return describePlatform(error.code, error.message);
  return describeFramework(error, parameters) ?? { code: 'INTERNAL', detail: errorCodes.INTERNAL.help, unexpected: true };
}

function describePlatform(code: ErrorCode, message: string): ProblemDescription {
  const { httpStatus, retriable, help } = errorCodes[code];
  if (httpStatus < 500 || code === 'NOT_READY') return { code, detail: message };
  // the message of an outage or an internal failure may contain addresses or statements: the help text is enough
  return retriable ? { code, detail: help } : { code: 'INTERNAL', detail: errorCodes.INTERNAL.help, unexpected: true };
}

const byStatus: Readonly<Record<number, ErrorCode>> = {
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'BODY_TOO_LARGE',
  415: 'MEDIA_TYPE_UNSUPPORTED',
  429: 'RATE_LIMITED',
};

/** Errors raised by fastify itself: failed validation, a body that is not JSON, a URL that cannot be decoded. */
function describeFramework(error: unknown, parameters: readonly string[] | undefined): ProblemDescription | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('validation' in error && Array.isArray(error.validation)) {
    return describeValidation(error.validation as readonly Violation[], contextOf(error), parameters);
  }
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status < 400 || status >= 500) return undefined;
  return { code: byStatus[status] ?? 'REQUEST_INVALID', detail: `reading the request: ${error.message}` };
}

/** Describes one broken rule that ajv reports. */
interface Violation {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

const places: Readonly<Record<string, string>> = {
  querystring: 'query parameter',
  params: 'path parameter',
  headers: 'header',
  body: 'body field',
};

const contextOf = (error: Error): string => ('validationContext' in error ? String(error.validationContext) : '');

function describeValidation(
  violations: readonly Violation[],
  context: string,
  parameters: readonly string[] | undefined,
): ProblemDescription {
  const known = context === 'querystring' ? parameters : undefined;
  const place = places[context] ?? 'parameter';
  const errors = violations.map((violation) => ({ parameter: parameterOf(violation), message: messageOfViolation(violation, known) }));
  const detail = errors.map(({ parameter, message }) => `${place} ${parameter === '' ? '(whole)' : parameter} ${message}`).join('; ');
  return { code: 'REQUEST_INVALID', detail: `reading the request: ${detail}`, errors };
}

function parameterOf(violation: Violation): string {
  const path = violation.instancePath.split('/').slice(1);
  const { missingProperty, additionalProperty } = violation.params;
  const last = typeof missingProperty === 'string' ? missingProperty : additionalProperty;
  return [...path, ...(typeof last === 'string' ? [last] : [])].join('.');
}

function messageOfViolation(violation: Violation, known: readonly string[] | undefined): string {
  const { allowedValues } = violation.params;
  switch (violation.keyword) {
    case 'required':
      return 'is missing';
    case 'additionalProperties':
      return known === undefined ? 'is not known here' : `is not known here; ${knownAs(known)}`;
    case 'enum':
      return Array.isArray(allowedValues) ? `must be one of ${allowedValues.join(', ')}` : 'is not one of the allowed values';
    default:
      return violation.message ?? 'is not valid';
  }
}

const knownAs = (names: readonly string[]): string =>
  names.length === 0 ? 'this route takes no query parameters' : `this route takes ${names.join(', ')}`;
