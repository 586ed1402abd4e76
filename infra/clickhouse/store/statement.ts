// Parses the kind of a statement, the format it requests, and where the rows of an INSERT begin.
import { notImplemented, syntaxError } from '../clickhouse-error.ts';
import { tokens, type StatementToken } from '../sql-text.ts';

/**
 * `read` statements run concurrently, and so does INSERT … SELECT, which may take as long as its SELECT; `write` statements run one at a
 * time; `rows` is an INSERT that takes its rows from the request.
 */
export type Statement =
  | { readonly kind: 'read' | 'write'; readonly verb: string; readonly sql: string; readonly format: string | undefined }
  | {
      readonly kind: 'rows';
      readonly verb: 'INSERT';
      /** `INSERT INTO t (a, b)` */
      readonly target: string;
      /** `SETTINGS a = 1`, or empty. */
      readonly settings: string;
      /** Undefined when the statement has none. */
      readonly format: string | undefined;
      /** Where the rows begin in the text; its length when there are none. */
      readonly rowsAt: number;
    };

const READS = new Set(['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'DESC', 'EXISTS', 'EXPLAIN', 'CHECK', 'KILL', 'USE', 'SET', 'FROM', 'INSERT']);

interface Scan {
  verb: string;
  format: string | undefined;
  ended: boolean;
}

/** Parses the head of a statement. Throws ClickHouse's SYNTAX_ERROR for an empty text and for several statements. */
export function parseStatement(text: string): Statement {
  const scanned = [...first(tokens(text))];
  const verb = verbOf(text, scanned);
  if (verb === '') throw syntaxError('Empty query');
  if (verb === 'INSERT') return parseInsert(text);
  return parsePlain(text, verb);
}

function* first(source: Iterable<StatementToken>): Generator<StatementToken> {
  for (const token of source) {
    yield token;
    if (token.kind !== 'symbol') return;
  }
}

const verbOf = (text: string, scanned: readonly StatementToken[]): string => {
  const word = scanned.at(-1);
  return word?.kind === 'word' ? text.slice(word.start, word.end).toUpperCase() : word === undefined ? '' : '?';
};

function parsePlain(text: string, verb: string): Statement {
  const scan: Scan = { verb, format: undefined, ended: false };
  let previous = '';
  for (const token of tokens(text)) {
    const upper = upperWord(text, token);
    follow(scan, { token, upper, previous, text });
    previous = upper;
  }
  return { kind: READS.has(verb) ? 'read' : 'write', verb, sql: text, format: scan.format };
}

function follow(scan: Scan, at: { token: StatementToken; upper: string; previous: string; text: string }): void {
  const { token, upper, previous, text } = at;
  if (text[token.start] === ';' && token.kind === 'symbol') {
    scan.ended = true;
    return;
  }
  if (scan.ended) throw syntaxError(`Multi-statements are not allowed: failed at position ${token.start + 1}`);
  if (token.depth > 0) return;
  if (previous === 'INTO' && upper === 'OUTFILE') throw notImplemented('INTO OUTFILE is not allowed over HTTP');
  if (previous === 'FORMAT' && token.kind === 'word') scan.format = text.slice(token.start, token.end);
}

const upperWord = (text: string, token: StatementToken): string =>
  token.kind === 'word' ? text.slice(token.start, token.end).toUpperCase() : '';

interface InsertScan {
  previous: string;
  target: boolean;
  settingsAt: number;
}

function parseInsert(text: string): Statement {
  const scan: InsertScan = { previous: '', target: false, settingsAt: -1 };
  for (const token of tokens(text)) {
    const found = followInsert(scan, token, text);
    if (found !== undefined) return found;
  }
  const end = text.length;
  return { kind: 'rows', verb: 'INSERT', ...headOf(text, scan, end), format: undefined, rowsAt: end };
}

function followInsert(scan: InsertScan, token: StatementToken, text: string): Statement | undefined {
  const upper = token.depth === 0 ? upperWord(text, token) : '';
  const previous = scan.previous;
  scan.previous = upper === '' ? text.slice(token.start, token.end) : upper;
  if (!scan.target) {
    scan.target = namesTarget(previous, upper);
    if (scan.target) scan.previous = '';
    return undefined;
  }
  if (previous === '.') {
    scan.previous = '';
    return undefined;
  }
  if (previous === 'FORMAT' && upper !== '') return rowsStatement(text, scan, token);
  return beginsSomething(scan, upper, { token, text, previous });
}

/** The word after INSERT [INTO] [TABLE | FUNCTION] is a name, even if it looks like a keyword. */
const namesTarget = (previous: string, upper: string): boolean =>
  (previous === 'INSERT' && upper !== 'INTO' && upper !== 'TABLE') ||
  previous === 'TABLE' ||
  previous === 'FUNCTION' ||
  (previous === 'INTO' && upper !== 'TABLE' && upper !== 'FUNCTION');

function beginsSomething(
  scan: InsertScan,
  upper: string,
  at: { token: StatementToken; text: string; previous: string },
): Statement | undefined {
  const { token, text } = at;
  if (upper === 'SETTINGS') scan.settingsAt = token.start;
  if (upper === 'SELECT' || upper === 'WITH' || upper === 'WATCH') return parsePlain(text, 'INSERT');
  if (text[token.start] === '(' && startsSelect(text, token)) return parsePlain(text, 'INSERT');
  if (upper === 'INFILE') throw notImplemented('FROM INFILE is not allowed over HTTP');
  if (upper === 'VALUES') {
    return { kind: 'rows', verb: 'INSERT', ...headOf(text, scan, token.start), format: 'Values', rowsAt: token.end };
  }
  return undefined;
}

const startsSelect = (text: string, token: StatementToken): boolean =>
  /^\(\s*(select|with)\b/i.test(text.slice(token.start, token.start + 64));

function rowsStatement(text: string, scan: InsertScan, format: StatementToken): Statement {
  const before = text.slice(0, format.start).replace(/format\s*$/i, '');
  return {
    kind: 'rows',
    verb: 'INSERT',
    ...headOf(text, scan, before.length),
    format: text.slice(format.start, format.end),
    rowsAt: rowsStart(text, format.end),
  };
}

/** Rows begin after spaces and one line end, so that a format that starts with an empty line stays intact. */
function rowsStart(text: string, from: number): number {
  const gap = /[ \t]*;?[ \t]*(\r?\n)?/y;
  gap.lastIndex = from;
  gap.test(text);
  return gap.lastIndex;
}

function headOf(text: string, scan: InsertScan, end: number): { readonly target: string; readonly settings: string } {
  const cut = scan.settingsAt < 0 ? end : scan.settingsAt;
  return { target: text.slice(0, cut).trim().replace(/;$/, ''), settings: text.slice(cut, end).trim().replace(/;$/, '') };
}
