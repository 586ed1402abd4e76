// Executes one request, from its text to the engine and back: which lane it uses, how its rows are read, and what happens when the client
// disconnects: the engine is asked to stop, and the slot in the lane is released once it has.
import type { IncomingMessage } from 'node:http';
import { sendBlocks, sendWhole, type AnswerContext } from './answer.ts';
import { compressionOf, readText, spoolBytes, spoolRows, type BodyLimits, type RowsFile } from './body.ts';
import { ClickHouseFailure, notImplemented } from '../clickhouse-error.ts';
import type { ClickHouseEngine, EngineSession } from './engine.ts';
import { isBlockwise } from './formats.ts';
import type { StoreGate } from './gate.ts';
import type { StatementJudge } from './judge.ts';
import { parseMultipart } from './multipart.ts';
import { parameterName, prepare, type RequestOptions } from './request-options.ts';
import { quoteText } from '../sql-text.ts';
import { parseStatement, type Statement } from './statement.ts';
import { conditionOf, type Entered, type UnderWay } from './under-way.ts';
import { limitOf } from './watch.ts';

export interface ExecuteDeps {
  readonly engine: ClickHouseEngine;
  readonly gate: StoreGate;
  readonly judge: StatementJudge;
  readonly incoming: string;
  readonly limits: BodyLimits;
  readonly defaults: ReadonlyMap<string, string>;
  readonly underWay: UnderWay;
}

export interface StatementExecution {
  readonly request: IncomingMessage;
  readonly options: RequestOptions;
  readonly answer: AnswerContext;
  /** Aborts when the client disconnects, and on KILL QUERY. */
  readonly signal: AbortSignal;
  readonly entered: Entered;
}

type RowsStatement = Extract<Statement, { kind: 'rows' }>;
type PlainStatement = Exclude<Statement, RowsStatement>;

/** Interval between attempts to stop a query whose client has disconnected, ms. */
const CANCEL_EVERY_MS = 500;
const NO_BYTES = Buffer.alloc(0);

/** Answers one request that has a query. Throws errors for the caller to send. */
export async function execute(deps: ExecuteDeps, execution: StatementExecution): Promise<void> {
  const { request, options } = execution;
  const fromUrl = options.query.trim() === '' ? undefined : parseHead(options.query);
  if (fromUrl?.kind === 'rows') {
    const head = Buffer.from(options.query.slice(fromUrl.rowsAt));
    const id = execution.answer.queryId;
    await insertRows(deps, execution, {
      statement: fromUrl,
      spool: () => spoolRows(request, deps.incoming, { id, head, maxBytes: deps.limits.rowsBytes }),
    });
    return;
  }
  const body = await readText(request, deps.limits);
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('multipart/form-data')) {
    await executeText(deps, withFields(execution, parseMultipart(body, type)), NO_BYTES);
    return;
  }
  await executeText(deps, execution, body);
}

/** Form fields replace the same keys of the URL. */
function withFields(execution: StatementExecution, fields: ReadonlyMap<string, string>): StatementExecution {
  const { options } = execution;
  const parameters = new Map(options.parameters);
  for (const [key, value] of fields) {
    if (key.startsWith('param_')) parameters.set(parameterName(key), value);
    else if (key !== 'query') throw notImplemented(`The form field ${JSON.stringify(key)} is not supported by the embedded store`);
  }
  return { ...execution, options: { ...options, parameters, query: [options.query, fields.get('query') ?? ''].join('\n').trim() } };
}

/** A query whose whole text is here: in the URL, in the body, or split between the two. */
async function executeText(deps: ExecuteDeps, execution: StatementExecution, body: Buffer): Promise<void> {
  const { options } = execution;
  const text = joinText(options.query, body);
  const statement = parseStatement(text.toString('latin1'));
  if (statement.kind === 'rows') {
    const rows = text.subarray(statement.rowsAt);
    await insertRows(deps, execution, {
      statement: asUtf8(statement),
      spool: () => spoolBytes(rows, deps.incoming, execution.answer.queryId),
    });
    return;
  }
  await runPlain(deps, execution, { ...statement, sql: text.toString('utf8') });
}

/** The text in the URL may be incomplete when it continues in the body. */
function parseHead(query: string): Statement | undefined {
  try {
    return parseStatement(query);
  } catch {
    return undefined;
  }
}

const joinText = (query: string, body: Buffer): Buffer =>
  query === '' ? body : body.length === 0 ? Buffer.from(query) : Buffer.concat([Buffer.from(`${query}\n`), body]);

/** The body is scanned as latin1, so that positions are byte offsets; the engine gets UTF-8 again. */
function asUtf8(statement: RowsStatement): RowsStatement {
  const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');
  return { ...statement, target: utf8(statement.target), settings: utf8(statement.settings) };
}

interface RowsIn {
  readonly statement: RowsStatement;
  readonly spool: () => Promise<RowsFile>;
}

async function insertRows(deps: ExecuteDeps, execution: StatementExecution, rows: RowsIn): Promise<void> {
  compressionOf(execution.request);
  const { statement } = rows;
  const file = await rows.spool();
  try {
    const format = statement.format ?? execution.options.defaultFormat ?? 'Values';
    if (!/^\w+$/.test(format)) throw new ClickHouseFailure(73, 'UNKNOWN_FORMAT', `Unknown format ${format}`);
    const source = `FROM INFILE ${quoteText(file.path)} COMPRESSION ${quoteText(file.compression)}`;
    const sql = `${statement.target} ${source} ${statement.settings} FORMAT ${format}`;
    const own = `${statement.target} ${statement.settings} FORMAT ${format}`;
    const result = await inSession(deps, { ...execution, lane: 'write', verb: statement.verb, sql: own }, (session, asked) =>
      session.run(`${asked};\n${sql}`, 'TabSeparated'),
    );
    const written = { writtenRows: result.rows, writtenBytes: result.rowBytes };
    const summary = { readRows: result.rows, readBytes: result.rowBytes, ...written, elapsedMs: result.elapsedMs };
    await sendWhole(execution.answer, NO_BYTES, { format, summary });
  } finally {
    await file.remove();
  }
}

async function runPlain(deps: ExecuteDeps, execution: StatementExecution, statement: PlainStatement): Promise<void> {
  const { options, answer, signal } = execution;
  const format = statement.format ?? options.defaultFormat ?? 'TabSeparated';
  const work = { ...execution, lane: statement.kind, verb: statement.verb, sql: statement.sql };
  const blocks = (statement.verb === 'SELECT' || statement.verb === 'WITH') && isBlockwise(format) && !options.waitForEnd;
  if (blocks) {
    const unlimited = { ...deps, defaults: without(deps.defaults, 'max_result_bytes') };
    await inSession(unlimited, work, async (session, asked) => {
      await session.run(asked, 'TabSeparated');
      signal.throwIfAborted();
      await sendBlocks(answer, session.stream(statement.sql, format), format);
    });
    return;
  }
  const sql = cancelling(statement);
  if (statement.verb === 'KILL') await endUnderWay(deps, execution, statement.sql);
  const result = await inSession(deps, work, (session, asked) => session.run(`${asked};\n${sql}`, format));
  const summary = { resultRows: result.rows, resultBytes: result.bytes.length, elapsedMs: result.elapsedMs };
  await sendWhole(answer, result.bytes, { format, summary });
}

const without = (map: ReadonlyMap<string, string>, name: string): ReadonlyMap<string, string> =>
  new Map([...map].filter(([key]) => key !== name));

/** Ends the requests that a KILL QUERY selects by id, whether or not the engine has started them. */
async function endUnderWay(deps: ExecuteDeps, execution: StatementExecution, sql: string): Promise<void> {
  const condition = conditionOf(sql);
  const ids = deps.underWay.ids().filter((id) => id !== execution.answer.queryId);
  if (condition === undefined || ids.length === 0) return;
  const among = `(select arrayJoin([${ids.map(quoteText).join(', ')}]) as query_id)`;
  const asking = `select query_id from ${among} where ${condition}`;
  const named = await inSession(deps, { ...execution, lane: 'read', verb: 'KILL', sql: asking }, async (session, asked) => {
    try {
      return (await session.run(`${asked};\n${asking}`, 'JSONCompactEachRow')).bytes.toString();
    } catch {
      return ''; // the condition uses something that only the engine knows
    }
  });
  const lines = named.split('\n').filter((line) => line !== '');
  await deps.underWay.end(lines.map((line) => (JSON.parse(line) as [string])[0]));
}

/** The engine uses query ids of its own; the client's id is stored as the log_comment of the query. */
function cancelling(statement: PlainStatement): string {
  if (statement.verb !== 'KILL') return statement.sql;
  return statement.sql.replace(/\bquery_id\b/g, "Settings['log_comment']").replace(/\bSYNC\b/i, 'ASYNC');
}

interface PreparedStatement extends StatementExecution {
  readonly lane: 'read' | 'write';
  readonly verb: string;
  /** The original statement, without rows. */
  readonly sql: string;
}

/** Statements allowed with GET. The engine rejects the others as well, but does some work before it checks. */
const GET_VERBS = new Set(['SELECT', 'WITH', 'FROM', 'SHOW', 'DESCRIBE', 'DESC', 'EXISTS', 'EXPLAIN']);

/**
 * Works in a session of its own. The statements in `asked` set it up for the request; they are prepended to the first statement, because a
 * call of the engine costs more than they do, except for a stream, which is a single statement.
 */
async function inSession<T>(
  deps: ExecuteDeps,
  execution: PreparedStatement,
  work: (session: EngineSession, asked: string) => Promise<T>,
): Promise<T> {
  const { signal, answer, request, options, sql, lane } = execution;
  const readonly = request.method === 'GET' || request.method === 'HEAD';
  if (readonly && !GET_VERBS.has(execution.verb)) {
    throw new ClickHouseFailure(
      164,
      'READONLY',
      `Cannot execute ${execution.verb} by ${request.method}, which only reads: send it with POST`,
    );
  }
  const client = `${String(request.headers['x-clickhouse-user'])} ${String(request.headers['user-agent'])}`;
  const leave = await deps.gate.enter(lane, client, signal);
  try {
    await deps.judge({ sql, parameters: options.parameters, settings: options.settings });
    const maxSeconds = limitOf(new Map([...deps.defaults, ...options.settings]), sql);
    const session = deps.engine.open({ sql, maxSeconds, ...(lane === 'read' ? { left: signal } : {}) });
    const stopCancelling = cancelWhenGone(deps.engine, answer.queryId, signal);
    try {
      signal.throwIfAborted();
      execution.entered.runs();
      return await work(session, prepare(options, { id: answer.queryId, readonly, defaults: deps.defaults }));
    } finally {
      stopCancelling();
      session.close();
    }
  } finally {
    leave();
  }
}

function cancelWhenGone(engine: ClickHouseEngine, id: string, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const ask = (): void => {
    timer = setTimeout(ask, CANCEL_EVERY_MS);
    engine.cancel(id).catch(() => undefined);
  };
  signal.addEventListener('abort', ask, { once: true });
  return () => {
    signal.removeEventListener('abort', ask);
    clearTimeout(timer);
  };
}
