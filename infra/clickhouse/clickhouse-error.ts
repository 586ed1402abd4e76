// Errors in the format of ClickHouse's HTTP interface: a code, its name, a status and a message.

/** An error that is sent to the client in ClickHouse's format. */
export class ClickHouseFailure extends Error {
  override readonly name = 'ClickHouseFailure';
  readonly code: number;
  readonly codeName: string;

  constructor(code: number, codeName: string, message: string) {
    super(message);
    this.code = code;
    this.codeName = codeName;
  }

  /** `Code: N. DB::Exception: … (NAME) (version …)` */
  text(version: string): string {
    return `Code: ${this.code}. DB::Exception: ${this.message} (${this.codeName}) (version ${version})\n`;
  }

  get httpStatus(): number {
    return statusByName.get(this.codeName) ?? 500;
  }
}

const byStatus: Readonly<Record<number, readonly string[]>> = {
  400: [
    'BAD_ARGUMENTS',
    'BAD_QUERY_PARAMETER',
    'CANNOT_COMPILE_REGEXP',
    'CANNOT_PARSE_TEXT',
    'CANNOT_PARSE_ESCAPE_SEQUENCE',
    'CANNOT_PARSE_QUOTED_STRING',
    'CANNOT_PARSE_DATE',
    'CANNOT_PARSE_DATETIME',
    'CANNOT_PARSE_NUMBER',
    'CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING',
    'CANNOT_PARSE_IPV4',
    'CANNOT_PARSE_IPV6',
    'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
    'CANNOT_PARSE_UUID',
    'DUPLICATE_COLUMN',
    'ILLEGAL_COLUMN',
    'UNKNOWN_ELEMENT_IN_AST',
    'UNKNOWN_TYPE_OF_AST_NODE',
    'THERE_IS_NO_COLUMN',
    'TOO_DEEP_AST',
    'TOO_BIG_AST',
    'UNEXPECTED_AST_STRUCTURE',
    'SYNTAX_ERROR',
    'INCORRECT_DATA',
    'TYPE_MISMATCH',
    'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
    'CANNOT_DECOMPRESS',
  ],
  401: ['REQUIRED_PASSWORD'],
  403: ['UNKNOWN_USER', 'WRONG_PASSWORD', 'AUTHENTICATION_FAILED', 'SET_NON_GRANTED_ROLE', 'ACCESS_DENIED'],
  404: [
    'UNKNOWN_TABLE',
    'UNKNOWN_FUNCTION',
    'UNKNOWN_IDENTIFIER',
    'UNKNOWN_TYPE',
    'UNKNOWN_STORAGE',
    'UNKNOWN_DATABASE',
    'UNKNOWN_SETTING',
    'UNKNOWN_DIRECTION_OF_SORTING',
    'UNKNOWN_AGGREGATE_FUNCTION',
    'UNKNOWN_FORMAT',
    'UNKNOWN_DATABASE_ENGINE',
    'UNKNOWN_TYPE_OF_QUERY',
    'UNKNOWN_ROLE',
  ],
  408: ['TIMEOUT_EXCEEDED'],
  413: ['QUERY_IS_TOO_LARGE'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'UNKNOWN_COMPRESSION_METHOD'],
  501: ['NOT_IMPLEMENTED'],
  503: ['SOCKET_TIMEOUT', 'CANNOT_OPEN_FILE', 'CANNOT_SCHEDULE_TASK', 'TOO_MANY_SIMULTANEOUS_QUERIES'],
};

const statusByName = new Map(Object.entries(byStatus).flatMap(([status, names]) => names.map((name) => [name, Number(status)] as const)));

const ENGINE_TEXT = /^Code: (\d+)\. (?:DB::)?(?:Net)?Exception: ([\s\S]*)$/;
const VERSION_NOTE = / \(version [^)]*\)/g;
const LAST_NAME = /\s*\(([A-Z][A-Z0-9_]{2,})\)\.?\s*$/;

/** Parses the engine's message; anything else is code 1002, UNKNOWN_EXCEPTION. */
export function failureOf(error: unknown): ClickHouseFailure {
  if (error instanceof ClickHouseFailure) return error;
  const raw = error instanceof Error ? error.message : String(error);
  const outer = ENGINE_TEXT.exec(raw.trim());
  if (outer === null) return new ClickHouseFailure(1002, 'UNKNOWN_EXCEPTION', raw);
  return named(Number(outer[1]), (outer[2] ?? '').replace(VERSION_NOTE, ''));
}

/** The engine sometimes nests `Code: N. DB::Exception: … (NAME)` around the same text: only the innermost one is kept. */
function named(code: number, text: string): ClickHouseFailure {
  let message = text;
  let codeName = 'UNKNOWN_EXCEPTION';
  for (let name = LAST_NAME.exec(message); name !== null; name = LAST_NAME.exec(message)) {
    if (codeName !== 'UNKNOWN_EXCEPTION' && name[1] !== codeName) break;
    codeName = name[1] ?? codeName;
    message = message.slice(0, name.index);
  }
  for (let inner = ENGINE_TEXT.exec(message); inner !== null && Number(inner[1]) === code; inner = ENGINE_TEXT.exec(message)) {
    message = inner[2] ?? '';
  }
  return new ClickHouseFailure(code, codeName, message);
}

export const syntaxError = (message: string): ClickHouseFailure => new ClickHouseFailure(62, 'SYNTAX_ERROR', `Syntax error: ${message}`);
export const badArguments = (message: string): ClickHouseFailure => new ClickHouseFailure(36, 'BAD_ARGUMENTS', message);
export const notImplemented = (message: string): ClickHouseFailure => new ClickHouseFailure(48, 'NOT_IMPLEMENTED', message);
export const tooLarge = (message: string): ClickHouseFailure => new ClickHouseFailure(636, 'QUERY_IS_TOO_LARGE', message);
