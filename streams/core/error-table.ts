// The only table of error codes. Each has a section in infra/docs/reference/errors.md; `npm run check:reference` compares both.

export interface ErrorKind {
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

export const errorTable = {
  CONFIG_INVALID: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'The configuration is invalid. The message lists every problem; correct them and start again.',
  },
  USAGE_INVALID: {
    retriable: false,
    httpStatus: 400,
    final: true,
    exit: 'usage',
    help: 'The options of a command are missing, wrong, or do not go together. See its --help.',
  },
  TOOLCHAIN_MISSING: {
    retriable: false,
    httpStatus: 500,
    exit: 'usage',
    help: 'The local Kafka needs Java 17 and Maven. Install them, set KAFKA_BROKERS, or use infra/docker.',
  },
  PORT_IN_USE: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'Another program uses the configured port. Stop it, or configure another port.',
  },
  DATA_DIR_IN_USE: {
    retriable: false,
    httpStatus: 409,
    exit: 'usage',
    help: 'Another turnstream process uses this data directory. Use that one, stop it, or set TURNSTREAM_DATA_DIR to another directory.',
  },
  DATA_DIR_UNUSABLE: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'TURNSTREAM_DATA_DIR is not a directory, is not writable for this user, or cannot be created. The message says which. Set it to a writable directory, or change its permissions.',
  },
  KAFKA_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    outage: true,
    exit: 'usage',
    help: 'No broker answered. Roles retry with backoff; check KAFKA_BROKERS and the logs of the brokers.',
  },
  LOG_CUT: {
    retriable: true,
    httpStatus: 503,
    outage: true,
    help: 'A partition lost its newest records although they were acknowledged, for example after a power loss or an unclean leader election. The trainer rebuilds its state from the log and requests missing work again. You do not need to do anything, but check the replication and the disks of the brokers.',
  },
  DISK_FULL: {
    retriable: true,
    httpStatus: 503,
    exit: 'usage',
    help: 'The disk of TURNSTREAM_DATA_DIR is full. No acknowledged data is lost. Free some space, and everything continues automatically.',
  },
  TOPIC_MISMATCH: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'usage',
    help: 'A topic has more partitions than allowed, and turnstream never shrinks a topic. For tasks and rollouts, configure at least as many as there are. Every other topic must have exactly one partition: if it has more, use another namespace.',
  },
  PRODUCER_FENCED: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'fenced',
    help: 'Another trainer took over the run. A run has one trainer, so this one exits.',
  },
  GROUP_FENCED: {
    retriable: true,
    httpStatus: 409,
    help: 'The partition moved to another member of the consumer group, which continues with it.',
  },
  OFFSETS_OUT_OF_RANGE: {
    retriable: false,
    httpStatus: 409,
    help: 'The position of the sink is outside a partition of the log: its tail was lost (a power loss, an unclean leader election, a recreated topic), or retention deleted records before they were stored. Nothing more is stored from it until you decide. `turnstream warehouse mend` shows each such partition and the repair; --yes carries it out.',
  },
  RECORD_TOO_LARGE: {
    retriable: false,
    httpStatus: 413,
    help: 'A record exceeds the size limit of its topic. Shorten its texts, or store the data elsewhere and record its URI.',
  },
  LEDGER_BROKEN: {
    retriable: false,
    httpStatus: 500,
    final: true,
    help: 'The ledger failed verification at the entry in the message. Restore the topic from a replica, or start a new run.',
  },
  WEIGHTS_MISMATCH: {
    retriable: false,
    httpStatus: 500,
    final: true,
    help: 'The hash of the weights differs from the one that they were published with. They are not used: workers and engines stay on the previous version. Publish the version again with the right URI and hash.',
  },
  WEIGHTS_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    help: 'The weights of a version cannot be read from their URI at the moment. Engines and workers stay on the previous version. Check the URI and, for a private server, TURNSTREAM_WEIGHTS_HOSTS.',
  },
  ENGINE_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    help: 'An inference engine of TURNSTREAM_ENGINES does not respond. It is tried again with backoff, and gets the newest version when it responds.',
  },
  ENGINE_REFUSED: {
    retriable: true,
    httpStatus: 502,
    help: 'An inference engine of TURNSTREAM_ENGINES rejects a call: a route that it does not have (vLLM needs VLLM_SERVER_DEV_MODE=1), a wrong TURNSTREAM_ENGINE_KEY, or weights that it cannot load. It keeps its weights and is tried again.',
  },
  RUN_CONFLICT: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'usage',
    help: 'The run was started with different settings, which the message lists. Use the same settings, or another --run.',
  },
  RUN_FINISHED: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'usage',
    help: 'The run has finished. `turnstream serve` opens it without training. `turnstream up --run <run> --steps <n>` extends it to step n. Another --run starts a new run.',
  },
  COORDINATOR_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    help: 'The coordinator of the run does not answer: it is starting or waiting for Kafka, or the run has ended. Leases do not expire in the meantime. Try again; `turnstream status` shows the trainer role.',
  },
  FENCED: {
    retriable: false,
    httpStatus: 409,
    help: 'Another trainer has claimed the run since, or this one has not claimed it, so its calls are refused. Stop it, or claim the run again.',
  },
  LINEAGE_MISMATCH: {
    retriable: false,
    httpStatus: 409,
    help: 'The checkpoint of the trainer is older than the newest committed version, or holds a batch that was never committed. Restore the version that the response names in `restore`, and claim the run again.',
  },
  LINEAGE_UNKNOWN: {
    retriable: false,
    httpStatus: 409,
    help: 'No commit of the run has this lineage token: the checkpoint belongs to another run or is too old. Start the trainer without a checkpoint.',
  },
  REWIND_REFUSED: {
    retriable: false,
    httpStatus: 409,
    help: 'A trainer can rewind only to a committed version that the newest one is based on, and only with a checkpoint of that version or without a checkpoint. Claim the run without rewind to see its newest version.',
  },
  WEIGHTS_CONFLICT: {
    retriable: false,
    httpStatus: 409,
    help: 'The version was committed with weights that have another hash. A version never changes its weights; publish the ones that were committed.',
  },
  BATCH_COMMITTED: {
    retriable: false,
    httpStatus: 409,
    help: 'The batch was already committed with other contents, and a batch is trained on once. Repeat the call with the same contents, or lease the next batch.',
  },
  BATCH_RELEASED: {
    retriable: false,
    httpStatus: 409,
    help: 'The lease of the batch has ended: its deadline passed, it was returned, or another trainer claimed the run. Its groups can be leased again if they are not too stale. Discard the update that was trained on it, and lease another batch.',
  },
  BATCH_OUT_OF_ORDER: {
    retriable: false,
    httpStatus: 409,
    help: 'A batch that was leased before this one is not committed yet. Commit batches in the order of their steps.',
  },
  BATCH_MISMATCH: {
    retriable: false,
    httpStatus: 409,
    help: 'The hash in the commit does not match the leased rows, so other data was trained on. Discard the update, and read the rows again.',
  },
  BACKEND_UNAVAILABLE: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'The configured tensor backend cannot be loaded. Leave it unset to use the best one that is installed.',
  },
  SCHEMA_INCOMPATIBLE: {
    retriable: false,
    httpStatus: 409,
    final: true,
    exit: 'usage',
    help: 'A schema is not compatible with every version of its subject (FULL_TRANSITIVE). Add only fields with defaults.',
  },
  ROWS_GONE: {
    retriable: false,
    httpStatus: 410,
    help: 'The rows of the batch can no longer be built, because retention has deleted some of its records from the log. Set TURNSTREAM_RETENTION_HOURS so that rollouts are kept until their batches have been read.',
  },
  RANGE_UNSATISFIABLE: { retriable: false, httpStatus: 416, help: 'The range starts after the last byte. The message has the size.' },
  SCHEMA_INVALID: { retriable: false, httpStatus: 422, help: 'The text is not an Avro schema.' },
  SCHEMA_NOT_FOUND: { retriable: false, httpStatus: 404, help: 'The registry does not have this subject, version, or id.' },
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
    help: 'ClickHouse did not answer. Roles retry with backoff; check CLICKHOUSE_URL or the store role.',
  },
  STORE_LOCKED: {
    retriable: false,
    httpStatus: 500,
    help: 'Another process has opened the data directory of the embedded store. Stop it, or set another TURNSTREAM_DATA_DIR.',
  },
  STORE_REFUSED: { retriable: false, httpStatus: 500, help: 'ClickHouse rejected a statement. The message comes from ClickHouse.' },
  STORE_FULL: {
    retriable: true,
    httpStatus: 503,
    outage: true,
    help: 'ClickHouse cannot write because the disk or memory is full. No offset is committed. Free some space, and it continues.',
  },
  MIGRATION_MISMATCH: {
    retriable: false,
    httpStatus: 500,
    final: true,
    exit: 'usage',
    help: 'A migration that was applied differs from the one in this release. Use the release that applied it, or a new database.',
  },
  QUESTIONS_INVALID: {
    retriable: false,
    httpStatus: 422,
    exit: 'usage',
    help: 'A question file has lines that cannot be read. The message lists them by number; nothing was imported.',
  },
  EVALUATIONS_UNRELATED: {
    retriable: false,
    httpStatus: 422,
    exit: 'usage',
    help: 'The two evaluations have no question in common. Questions are paired by text and gold answers, and in evaluations of earlier releases by id. Run both on the same file or question set.',
  },
  AUDIT_FAILED: { retriable: false, httpStatus: 500, help: 'The log and the tables differ. The output lists the partitions and rows.' },
  REPLAY_DIFFERS: {
    retriable: false,
    httpStatus: 500,
    help: 'A replayed step differs from the ledger. The output lists the differences; `turnstream ledger verify` checks the ledger itself.',
  },
  REQUEST_INVALID: { retriable: false, httpStatus: 400, help: 'A parameter or the body of a request is invalid. The message names it.' },
  CURSOR_MISMATCH: {
    retriable: false,
    httpStatus: 409,
    help: 'The cursor belongs to another list or to other filters. Send it with the list and the filters that it comes from, or start without a cursor.',
  },
  NOT_FOUND: { retriable: false, httpStatus: 404, final: true, exit: 'usage', help: 'The resource does not exist.' },
  METHOD_NOT_ALLOWED: { retriable: false, httpStatus: 405, help: 'The route does not support this method.' },
  UNAUTHENTICATED: { retriable: false, httpStatus: 401, help: 'An API key is required: Authorization: Bearer <key>.' },
  FORBIDDEN: { retriable: false, httpStatus: 403, help: 'The API key lacks the scope of this route.' },
  FOREIGN_ORIGIN: {
    retriable: false,
    httpStatus: 403,
    help: 'The request comes from a web page of another origin, or names an unknown host. Only its own pages may use a port of turnstream. Use a program, or open the address in the browser. Behind a reverse proxy, set TURNSTREAM_API_NAMES to its host name.',
  },
  BODY_TOO_LARGE: { retriable: false, httpStatus: 413, help: 'The body exceeds the limit of the route.' },
  MEDIA_TYPE_UNSUPPORTED: { retriable: false, httpStatus: 415, help: 'Send application/json.' },
  RATE_LIMITED: { retriable: true, httpStatus: 429, help: 'Too many requests. Wait for the time in Retry-After.' },
  SQL_REFUSED: {
    retriable: false,
    httpStatus: 403,
    help: 'The statement is not a single SELECT over the tables of turnstream. The message names the refused part.',
  },
  SQL_INVALID: {
    retriable: false,
    httpStatus: 400,
    help: 'ClickHouse could not parse or run the statement. The message comes from ClickHouse.',
  },
  SQL_LIMIT: {
    retriable: false,
    httpStatus: 422,
    help: 'The query reached its limit of time, rows, bytes, or memory. Narrow it, or aggregate.',
  },
  MODEL_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    help: 'No request to the language model succeeded, even after all retries. The message has the last failure; check TURNSTREAM_LLM_URL and the log of the server.',
  },
  MODEL_REFUSED: {
    retriable: false,
    httpStatus: 502,
    help: 'The server of the language model rejects every request. Check TURNSTREAM_LLM_URL, TURNSTREAM_LLM_MODEL, and TURNSTREAM_LLM_API_KEY.',
  },
  TOOLS_UNAVAILABLE: {
    retriable: true,
    httpStatus: 503,
    help: 'The search, retrieval, or reader server of the tools does not answer. The message names it; check its address and its log.',
  },
  NOT_READY: {
    retriable: true,
    httpStatus: 503,
    help: 'Kafka, ClickHouse, the migrations, or a role is not ready. The message and /healthz say which waits for what; try again soon.',
  },
  INTERNAL: { retriable: false, httpStatus: 500, help: 'A bug in turnstream. The log has the details under the request id.' },
} as const satisfies Record<string, ErrorKind>;
