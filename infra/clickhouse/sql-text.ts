// A scanner for ClickHouse's SQL that recognizes just enough to separate statements from each other and from the rows that follow them.

export interface StatementToken {
  readonly kind: 'word' | 'name' | 'text' | 'symbol';
  readonly start: number;
  readonly end: number;
  /** Nesting depth of parentheses, brackets and braces. */
  readonly depth: number;
}

const WORD_START = /[A-Za-z_\u0080-\uffff]/;
const WORD = /[A-Za-z0-9_\u0080-\uffff]*/y;
const NUMBER = /[0-9][0-9A-Za-z_.]*/y;
const HEREDOC = /\$[A-Za-z0-9_]*\$/y;
const SPACE = /[\s\u00a0\ufeff]+/y;
const OPENING = '([{';
const CLOSING = ')]}';

const matchAt = (pattern: RegExp, sql: string, at: number): number => {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : at;
};

/** End of the comment that starts at `at`, or `at` when none starts there. */
function commentEnd(sql: string, at: number): number {
  const two = sql.slice(at, at + 2);
  if (two === '/*') return blockEnd(sql, at);
  if (two === '--' || two === '//' || two === '# ' || two === '#!') {
    const end = sql.indexOf('\n', at);
    return end < 0 ? sql.length : end + 1;
  }
  return at;
}

const BLOCK_MARK = /\/\*|\*\//g;

/** Block comments may be nested. */
function blockEnd(sql: string, at: number): number {
  BLOCK_MARK.lastIndex = at;
  let depth = 0;
  for (let mark = BLOCK_MARK.exec(sql); mark !== null; mark = BLOCK_MARK.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return BLOCK_MARK.lastIndex;
  }
  return sql.length;
}

function skipSpace(sql: string, from: number): number {
  let at = from;
  for (;;) {
    const next = commentEnd(sql, matchAt(SPACE, sql, at));
    if (next === at) return at;
    at = next;
  }
}

/** End of a quoted string: backslash escapes, and a doubled quote is a quote. */
function quotedEnd(sql: string, start: number): number {
  const quote = sql[start];
  for (let at = start + 1; at < sql.length; at += 1) {
    const char = sql[at];
    if (char === '\\') at += 1;
    else if (char === quote) {
      if (sql[at + 1] !== quote) return at + 1;
      at += 1;
    }
  }
  return sql.length;
}

function heredocEnd(sql: string, start: number): number {
  const open = matchAt(HEREDOC, sql, start);
  if (open === start) return start + 1;
  const end = sql.indexOf(sql.slice(start, open), open);
  return end < 0 ? start + 1 : end + (open - start);
}

function tokenAt(sql: string, start: number): { readonly kind: StatementToken['kind']; readonly end: number } {
  const char = sql[start] ?? '';
  if (char === "'") return { kind: 'text', end: quotedEnd(sql, start) };
  if (char === '`' || char === '"') return { kind: 'name', end: quotedEnd(sql, start) };
  if (char === '$') {
    const end = heredocEnd(sql, start);
    return { kind: end > start + 1 ? 'text' : 'symbol', end };
  }
  if (WORD_START.test(char)) return { kind: 'word', end: matchAt(WORD, sql, start) };
  if (/[0-9]/.test(char)) return { kind: 'text', end: matchAt(NUMBER, sql, start) };
  return { kind: 'symbol', end: start + 1 };
}

/** The tokens of a text without comments and spaces; lazy, so that the rows after an INSERT are never scanned. */
export function* tokens(sql: string): Generator<StatementToken, undefined> {
  let depth = 0;
  for (let start = skipSpace(sql, 0); start < sql.length;) {
    const { kind, end } = tokenAt(sql, start);
    const symbol = kind === 'symbol' ? (sql[start] ?? '') : '';
    if (symbol !== '' && CLOSING.includes(symbol)) depth = Math.max(0, depth - 1);
    yield { kind, start, end, depth };
    if (symbol !== '' && OPENING.includes(symbol)) depth += 1;
    start = skipSpace(sql, end);
  }
}

/** A string as ClickHouse's single-quoted literal. */
export const quoteText = (value: string): string => `'${value.replace(/[\\']/g, (char) => `\\${char}`)}'`;

/** A name as ClickHouse's back-quoted identifier. */
export const quoteName = (value: string): string => `\`${value.replace(/[\\`]/g, (char) => `\\${char}`)}\``;
