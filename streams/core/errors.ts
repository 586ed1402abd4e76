// The one table of error codes. Each has an HTTP status, says whether trying again can help, and has a
// section in infra/docs/reference/errors.md (a test compares both ways).

interface ErrorKind {
  readonly retriable: boolean;
  readonly httpStatus: number;
  /** A role waits until it is over and starts its work again. */
  readonly outage?: true;
  /** Every new process of the role fails the same way, so the supervisor does not restart it. */
  readonly final?: true;
  /** The exit code of a command that fails with it, by name; `failed` when it is left out. */
  readonly exit?: 'usage' | 'fenced';
  /** What it means and what to do next, for the reference page. */
  readonly help: string;
}

const table = {
  CONFIG_INVALID: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'Configuration cannot be used. Every problem is listed; correct them and start again.',
  },
  USAGE_INVALID: {
    retriable: false,
    httpStatus: 400,
    final: true,
    exit: 'usage',
    help: 'A command was called with options that do not fit. See its --help.',
  },
  TOOLCHAIN_MISSING: {
    retriable: false,
    httpStatus: 500,
    exit: 'usage',
    help: 'Java 17 or Maven is missing for the local Kafka. Install them, set KAFKA_BROKERS, or use infra/docker.',
  },
  PORT_IN_USE: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'The configured port is taken. Stop the other program or configure another port.',
  },
  DATA_DIR_IN_USE: {
    retriable: false,
    httpStatus: 409,
    exit: 'usage',
    help: 'Another turnstream runs in this data directory. Use it, stop it, or set TURNSTREAM_DATA_DIR to another one.',
  },
  DATA_DIR_UNUSABLE: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'TURNSTREAM_DATA_DIR is not a folder, cannot be written by this user, or lies where no folder can be made. The message says which. Set it to a folder that can be written, or give this user the rights.',
  },
  KAFKA_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    outage: true,
    exit: 'usage',
    help: 'No broker answered. Roles wait with backoff; check KAFKA_BROKERS and the broker logs.',
  },
  LOG_CUT: {
    retriable: true,
    httpStatus: 503,
    outage: true,
    help: 'The newest records of a partition are gone, although they were acknowledged: a power loss, or an unclean election. The trainer folds the run anew from what the log holds, and asks again for what is missing. Nothing is to be done; look at the replication and the disks of the brokers.',
  },
  DISK_FULL: {
    retriable: true,
    httpStatus: 503,
    exit: 'usage',
    help: 'The disk of TURNSTREAM_DATA_DIR is full. Nothing that was acknowledged is lost; free some space and everything goes on by itself.',
  },
  TOPIC_MISMATCH: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'usage',
    help: 'A topic has more partitions than it may have, and turnstream never shrinks a topic. For tasks and rollouts configure at least as many; the others, training above all, have exactly one: use another namespace.',
  },
  PRODUCER_FENCED: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'fenced',
    help: 'Another trainer claimed the same run. Only one may run; this one stops.',
  },
  GROUP_FENCED: {
    retriable: true,
    httpStatus: 409,
    help: 'The partition moved to another member of the consumer group. The member that has it now goes on.',
  },
  OFFSETS_OUT_OF_RANGE: {
    retriable: false,
    httpStatus: 409,
    help: 'A partition of the log does not reach the position of the sink: its tail was cut (a power loss, an unclean election, a topic made anew), or retention deleted records before they were stored. Nothing of it is stored until you decide. `turnstream warehouse mend` shows each such partition and what would be done; with --yes it does it.',
  },
  RECORD_TOO_LARGE: {
    retriable: false,
    httpStatus: 413,
    help: 'A record is larger than its topic takes. Cut its texts, or put the data elsewhere and write its address.',
  },
  LEDGER_BROKEN: {
    retriable: false,
    httpStatus: 500,
    final: true,
    help: 'The ledger does not verify. See the printed entry; restore the topic from a replica or start a new run.',
  },
  WEIGHTS_MISMATCH: {
    retriable: false,
    httpStatus: 500,
    final: true,
    help: 'Weights do not have the hash that their step recorded. They are not used.',
  },
  RUN_CONFLICT: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'usage',
    help: 'The run was started with other settings, which the message lists. Use those, or another --run.',
  },
  RUN_FINISHED: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'usage',
    help: 'The run has finished. `turnstream serve` opens it without training. `turnstream up --run <run> --steps <n>` trains it further when n is more than the steps it made. Another --run starts a new run.',
  },
  BACKEND_UNAVAILABLE: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'The configured tensor backend cannot be loaded here. Leave it unset to use the best one that is installed.',
  },
  SCHEMA_INCOMPATIBLE: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'usage',
    help: 'A schema is not compatible with every version of its subject (FULL_TRANSITIVE). Add fields with defaults only.',
  },
  SCHEMA_INVALID: { retriable: false, httpStatus: 422, help: 'The text is not an Avro schema.' },
  SCHEMA_NOT_FOUND: { retriable: false, httpStatus: 404, help: 'The registry has no such subject, version or id.' },
  REGISTRY_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    outage: true,
    exit: 'usage',
    help: 'The schema registry did not answer. Check SCHEMA_REGISTRY_URL.',
  },
  STORE_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    outage: true,
    exit: 'usage',
    help: 'ClickHouse did not answer. Roles wait with backoff; check CLICKHOUSE_URL or the store role.',
  },
  STORE_LOCKED: {
    retriable: false,
    httpStatus: 500,
    help: 'Another process has the data directory of the embedded store open. Stop it, or choose another TURNSTREAM_DATA_DIR.',
  },
  STORE_REFUSED: { retriable: false, httpStatus: 500, help: 'ClickHouse refused a statement. The message is its own.' },
  STORE_FULL: {
    retriable: true,
    httpStatus: 503,
    outage: true,
    help: 'ClickHouse cannot write (disk or memory). No offset is committed; free space and it goes on.',
  },
  MIGRATION_MISMATCH: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'An applied migration differs from the one in this version. Use the version that applied it, or a new database.',
  },
  QUESTIONS_INVALID: {
    retriable: false,
    httpStatus: 422,
    exit: 'usage',
    help: 'Lines of a question file cannot be read. Each is listed with its number; nothing was imported.',
  },
  EVALUATIONS_UNRELATED: {
    retriable: false,
    httpStatus: 422,
    exit: 'usage',
    help: 'Two evaluations have no question in common, so that nothing can be compared. Questions are paired by their words and gold answers; evaluations of versions before this was recorded are paired by the ids of their questions. Evaluate both on the same file or set.',
  },
  AUDIT_FAILED: { retriable: false, httpStatus: 500, help: 'The log and the tables differ. The differing partitions and rows are listed.' },
  REPLAY_DIFFERS: {
    retriable: false,
    httpStatus: 500,
    help: 'A replayed step is not what the ledger says. What differs is listed; `turnstream ledger verify` tells whether the ledger is whole.',
  },
  REQUEST_INVALID: { retriable: false, httpStatus: 400, help: 'A parameter or body does not fit the route. The message names it.' },
  CURSOR_MISMATCH: {
    retriable: false,
    httpStatus: 409,
    help: 'The cursor comes from another list, or from this one with other filters. Repeat the filters of its page, or start without a cursor.',
  },
  NOT_FOUND: {
    retriable: false,
    httpStatus: 404,
    final: true,
    exit: 'usage',
    help: 'There is no such resource.',
  },
  METHOD_NOT_ALLOWED: { retriable: false, httpStatus: 405, help: 'The route exists but not with this method.' },
  UNAUTHENTICATED: { retriable: false, httpStatus: 401, help: 'An API key is needed: Authorization: Bearer <key>.' },
  FORBIDDEN: { retriable: false, httpStatus: 403, help: 'The API key does not have the scope of this route.' },
  FOREIGN_ORIGIN: {
    retriable: false,
    httpStatus: 403,
    help: 'A web page of another origin, or under another host name, sent the request. No web page but its own may use a port of turnstream. Use a program, or open the address in the browser itself. Behind a reverse proxy set TURNSTREAM_API_NAMES to its host name.',
  },
  BODY_TOO_LARGE: { retriable: false, httpStatus: 413, help: 'The body is over the limit of the route.' },
  MEDIA_TYPE_UNSUPPORTED: { retriable: false, httpStatus: 415, help: 'Send application/json.' },
  RATE_LIMITED: { retriable: true, httpStatus: 429, help: 'Too many requests. Wait as Retry-After says.' },
  SQL_REFUSED: {
    retriable: false,
    httpStatus: 403,
    help: 'The statement is not one SELECT over the tables of the project. The message says which part is refused.',
  },
  SQL_INVALID: { retriable: false, httpStatus: 400, help: 'ClickHouse could not parse or run the statement. The message is its own.' },
  SQL_LIMIT: {
    retriable: false,
    httpStatus: 422,
    help: 'The query reached its limit of time, rows, bytes or memory. Narrow it, or aggregate.',
  },
  MODEL_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    help: 'The language model did not generate, however often it was asked. The message says what it did instead; check TURNSTREAM_LLM_URL and the log of the server.',
  },
  MODEL_REFUSED: {
    retriable: false,
    httpStatus: 502,
    help: 'The server of the language model refuses every request. Check TURNSTREAM_LLM_URL, TURNSTREAM_LLM_MODEL and TURNSTREAM_LLM_API_KEY.',
  },
  NOT_READY: {
    retriable: true,
    httpStatus: 503,
    help: 'Kafka, ClickHouse, the migrations or a role are not there yet. The message and /healthz say which waits for what; try again soon.',
  },
  INTERNAL: { retriable: false, httpStatus: 500, help: 'A bug. The log has it under the request id.' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof table;

export const errorCodes: Readonly<Record<ErrorCode, ErrorKind>> = table;

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
