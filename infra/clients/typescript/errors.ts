// Errors, each with a code. Those of the API have the code of the problem document.

/** Anything that the client throws. */
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

/** The API refused or failed. */
export class ApiError extends TurnstreamError {
  override readonly name = 'ApiError';
  readonly status: number;
  /** The whole problem document: `restore` of a LINEAGE_MISMATCH is in it. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(textOf(problem['code']) ?? 'UNKNOWN', textOf(problem['detail']) ?? `the API answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The error of a response, whose body it reads. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === 'object' && problem !== null) return new ApiError(response.status, { ...problem });
  } catch {
    // a response of a proxy, not of the API
  }
  return new ApiError(response.status, { detail: `the API answered ${response.status}: ${text.slice(0, 200)}` });
}
