// Runs a single SELECT from a user over the tables of the project and nothing else.
//
// The decision uses the engine's own parsing: formatQuerySingleLine (with the text as a bound value) rejects multiple statements and drops
// comments; decideText() checks its output; decide() checks EXPLAIN AST of that output, with the same parameters, against the names of the
// engine and the database (vocabulary.ts); exactly the checked text runs, under limits. Nothing of the statement runs before the check.
// SHOW TABLES and DESCRIBE are statements of our own (catalogue.ts). EXPLAIN AST must be a statement of its own: as a subquery it shows a
// rewritten tree without window definitions.
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { assertDescribed, catalogueStatement } from './catalogue.ts';
import { decide, type Refusal, type SqlVerdict } from './decide.ts';
import type { SqlFormat } from './formats.ts';
import { createGate } from './gate.ts';
import { MAX_QUERY_CHARS, settingsOf, userErrorOf, type SqlLimits } from './limits.ts';
import type { Vocabulary } from './names.ts';
import { declaredByWith, decideShown, decideText } from './text.ts';
import { readVocabulary } from './vocabulary.ts';

interface SqlRequest {
  readonly query: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly format: SqlFormat;
  readonly signal?: AbortSignal;
}

export interface SqlSandbox {
  /** The whole result. Throws SQL_REFUSED, SQL_INVALID, SQL_LIMIT or RATE_LIMITED, or the outage of the store. */
  run(request: SqlRequest): Promise<Buffer>;
}

export function createSandbox(store: Store, limits: SqlLimits): SqlSandbox {
  const gate = createGate({ width: limits.concurrency, maxWaitMs: limits.maxWaitMs });
  return {
    run: (request) =>
      gate.run(async (alone) => {
        try {
          return await execute({ store, limits, alone, ...(await statementOf(store, request)) });
        } catch (error) {
          throw userErrorOf(error);
        }
      }),
  };
}

/** The statement to run: our own for SHOW TABLES and DESCRIBE, else exactly the checked one. */
async function statementOf(store: Store, request: SqlRequest): Promise<Pick<SqlExecution, 'request' | 'statement'>> {
  const asked = catalogueStatement(request.query, store.database);
  if (asked === undefined) return { request, statement: (await judge(store, request)).statement };
  await assertDescribed(store, asked);
  return { request: { ...request, params: asked.params }, statement: asked.statement };
}

const NORMALISE = 'select formatQuerySingleLine({q:String}) as q, version() as version';

interface Normalised {
  readonly q: string;
  readonly version: string;
}

export interface FormattedStatement {
  /** As ClickHouse's formatter writes it. */
  readonly statement: string;
  /** The output of EXPLAIN AST for exactly this text. */
  readonly tree: string;
}

/** The normalized statement once it is found harmless, before any of it runs. Throws SQL_REFUSED, or the error of the engine. */
export async function judge(store: Store, request: Omit<SqlRequest, 'format'>): Promise<FormattedStatement> {
  if (request.query.length > MAX_QUERY_CHARS) {
    throw refusalOf({
      allowed: false,
      part: `a statement of over ${MAX_QUERY_CHARS} characters`,
      instead: 'shorten it or bind values as params',
    });
  }
  const signal = signalOf(request);
  const [found] = await store.query<Normalised>(NORMALISE, { ...signal, params: { q: request.query } });
  const { q: statement = '', version = '' } = found ?? {};
  const vocabulary = await readVocabulary(store, { version, fresh: false });
  assertAllowed(decideText(statement, vocabulary.foreign));
  const tree = await treeOf(store, { ...request, query: statement });
  await assertTree({ store, statement, tree, vocabulary, version });
  assertAllowed(decideShown(statement, tree));
  return { statement, tree };
}

/** Settings that limit concurrent queries, which EXPLAIN next to another query may exceed. */
const LIMITS_QUERIES = /max_concurrent_queries/i;

/** The statement's settings also apply to EXPLAIN: some change its output to something other than rows, some prevent it from running. */
async function treeOf(store: Store, request: Omit<SqlRequest, 'format'>): Promise<string> {
  try {
    const lines = await store.query<{ explain: string }>(`explain ast ${request.query}`, { ...signalOf(request), params: request.params });
    return lines.map(({ explain }) => explain).join('\n');
  } catch (error) {
    const isLimited = isPlatformError(error, 'STORE_UNAVAILABLE') && LIMITS_QUERIES.test(request.query);
    if (!(error instanceof SyntaxError) && !isLimited) throw error;
    throw refusalOf({ allowed: false, part: 'a SETTINGS clause that changes how a query is answered', instead: 'leave it out' });
  }
}

interface Tree {
  readonly store: Store;
  readonly statement: string;
  readonly tree: string;
  readonly vocabulary: Vocabulary;
  readonly version: string;
}

/** An unknown name may belong to a new table, so the vocabulary is read again. */
async function assertTree({ store, statement, tree, vocabulary, version }: Tree): Promise<void> {
  const declared = declaredByWith(statement);
  const verdictBy = (known: Vocabulary): SqlVerdict => decide(tree, { database: store.database, vocabulary: known, declared });
  const verdict = verdictBy(vocabulary);
  if (verdict.allowed || verdict.unknown !== true) assertAllowed(verdict);
  else assertAllowed(verdictBy(await readVocabulary(store, { version, fresh: true })));
}

const signalOf = (request: Pick<SqlRequest, 'signal'>): { readonly signal?: AbortSignal } =>
  request.signal === undefined ? {} : { signal: request.signal };

function assertAllowed(verdict: SqlVerdict): void {
  if (!verdict.allowed) throw refusalOf(verdict);
}

function refusalOf({ unknown, part, instead }: Refusal): PlatformError {
  if (unknown === true)
    return new PlatformError('SQL_INVALID', `checking the query: ${part} is not defined in this database or the query; ${instead}`);
  return new PlatformError('SQL_REFUSED', `checking the query: ${part} is refused here; ${instead}`);
}

interface SqlExecution {
  readonly store: Store;
  readonly limits: SqlLimits;
  readonly request: SqlRequest;
  readonly statement: string;
  /** No other query ran when this one started. */
  readonly alone: boolean;
}

async function execute({ store, limits, request, statement, alone }: SqlExecution): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stream = await store.stream(statement, {
    ...signalOf(request),
    params: request.params,
    settings: settingsOf(limits, alone),
    format: request.format,
  });
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > limits.maxResultBytes) {
      throw new PlatformError(
        'SQL_LIMIT',
        `running the query: it reached its limit of bytes; the result is over ${limits.maxResultBytes}; narrow it or aggregate`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
