// Errors, each with a code. API errors have the code of the problem document.

/** Base class of the errors of this client. */
export class TurnstreamError extends Error {
  override readonly name: string = 'TurnstreamError';
  readonly code: string;

  constructor(code: string, detail: string, options?: ErrorOptions) {
    super(`${code}: ${detail}`, options);
    this.code = code;
  }
}

/** The API could not be reached, or the connection broke: code API_UNREACHABLE. It is unknown whether the request was executed. */
export class ConnectionFailed extends TurnstreamError {
  override readonly name = 'ConnectionFailed';

  constructor(what: string, cause: unknown) {
    super('API_UNREACHABLE', `${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** The API responded with an error. */
export class ApiError extends TurnstreamError {
  override readonly name = 'ApiError';
  readonly status: number;
  /** The problem document, with `restore` for a LINEAGE_MISMATCH. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(textOf(problem['code']) ?? 'UNKNOWN', textOf(problem['detail']) ?? `the API responded with status ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

/** Whether the same call may succeed later. */
export const passes = (error: unknown): boolean => error instanceof ConnectionFailed || (error instanceof ApiError && error.status >= 500);

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Reads the body of an error response. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === 'object' && problem !== null) return new ApiError(response.status, { ...problem });
  } catch {
    // not JSON, for example a response of a proxy
  }
  return new ApiError(response.status, {
    detail: `${response.url} responded with status ${response.status}: ${text.slice(0, 200)} (is that turnstream?)`,
  });
}
