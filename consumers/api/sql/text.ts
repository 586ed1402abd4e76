// A second check, on the text: it covers what EXPLAIN AST does not show (the function in APPLY, a parameter that becomes a name) and names
// that could corrupt its lines. The input comes from ClickHouse's formatter, so comments, heredocs and unusual whitespace are gone and
// quoting is regular.
import { refuse, SYSTEM_TABLES, type SqlVerdict } from './decide.ts';
import { isCollation } from './collations.ts';
import { isAllowedFunction, isAllowedTableFunction } from './functions.ts';
import { isAllowedType } from './types.ts';

interface SqlToken {
  readonly kind: 'word' | 'name' | 'text' | 'parameter' | 'mark';
  /** The word, the quoted name without its quotes, the parameter with its braces, or the punctuation mark. */
  readonly value: string;
}

const TOKEN =
  /(?<text>'(?:[^'\\]|\\.|'')*')|(?<name>`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*")|(?<parameter>\{[^{}]*\})|(?<word>[\p{L}\p{N}_$]+)|(?<space>\s+)|(?<mark>[^\s])/gsuy;

/** Undefined when a quote is not closed. */
export function tokensOf(statement: string): readonly SqlToken[] | undefined {
  const tokens: SqlToken[] = [];
  for (const { groups } of statement.matchAll(TOKEN)) {
    const { text, name, parameter, word, mark } = groups ?? {};
    if (text !== undefined) tokens.push({ kind: 'text', value: text });
    else if (name !== undefined) tokens.push({ kind: 'name', value: name.slice(1, -1) });
    else if (parameter !== undefined) tokens.push({ kind: 'parameter', value: parameter });
    else if (word !== undefined) tokens.push({ kind: 'word', value: word });
    else if (mark !== undefined) tokens.push({ kind: 'mark', value: mark });
  }
  return tokens.some(({ kind, value }) => kind === 'mark' && ["'", '`', '"'].includes(value)) ? undefined : tokens;
}

/** Keywords that may precede an opening parenthesis. */
const KEYWORDS = new Set(
  (
    'all and any anti array as asof between by case columns cross cube distinct else except from full global having ilike in inner ' +
    'interpolate intersect is join left like limit materialized not offset on or order outer over partition paste prewhere qualify ' +
    'recursive replace respect right rollup select semi sets then totals union using values when where window with'
  ).split(' '),
);

/** `statement` is the output of formatQuerySingleLine; `foreign` are databases other than the project's. */
export function decideText(statement: string, foreign: ReadonlySet<string>): SqlVerdict {
  // The formatter escapes control characters, so a remaining one is an attack.
  if (/[\u0000-\u001f\u007f]/.test(statement)) return refuse('a control character', 'write it as an escape in a string');
  const tokens = tokensOf(statement);
  if (tokens === undefined) return refuse('a quote that is not closed', 'close it');
  return decideStart(tokens) ?? decideOutput(tokens) ?? decideTokens(tokens) ?? decideQualified(tokens, foreign) ?? { allowed: true };
}

type TextFinding = SqlVerdict | undefined;

function decideStart(tokens: readonly SqlToken[]): TextFinding {
  const first = tokens.find(({ value }) => value !== '(');
  const word = first?.kind === 'word' ? first.value.toUpperCase() : '';
  if (word === 'SELECT' || word === 'WITH') return undefined;
  const instead = ['SHOW', 'DESCRIBE', 'DESC', 'EXISTS', 'EXPLAIN'].includes(word)
    ? 'send one SELECT; GET /v1/sql/tables lists tables and columns'
    : 'send one SELECT; this interface only reads';
  return refuse(`${word === '' ? 'this' : /^[AEIOU]/.test(word) ? `an ${word}` : `a ${word}`} statement`, instead);
}

function decideOutput(tokens: readonly SqlToken[]): TextFinding {
  const words = tokens.map(({ kind, value }) => (kind === 'word' ? value.toUpperCase() : ''));
  if (words.some((word, at) => word === 'INTO' && words[at + 1] === 'OUTFILE')) {
    return refuse('INTO OUTFILE', 'leave it out; the answer is the result');
  }
  const last = words.at(-2) === 'FORMAT' ? tokens.at(-1)?.kind : undefined;
  if (last === 'word' || last === 'name') {
    return refuse('a FORMAT clause', 'leave it out and send the field "format" beside "query"');
  }
  return undefined;
}

/** Refuses the name of another database before a dot, anywhere in the text: the tree omits parts of a statement. */
function decideQualified(tokens: readonly SqlToken[], foreign: ReadonlySet<string>): TextFinding {
  for (const [at, owner] of tokens.entries()) {
    if (!isName(owner) || !foreign.has(owner.value) || !isMark(tokens[at + 1], '.')) continue;
    const member = tokens[at + 2]?.value ?? '';
    if (owner.value === 'system' && SYSTEM_TABLES.has(member)) continue;
    return refuse(
      `"${owner.value}.${member.slice(0, 80)}" outside this database`,
      'select from the tables of this database; GET /v1/sql/tables lists them',
    );
  }
  return undefined;
}

const isName = ({ kind }: SqlToken): boolean => kind === 'word' || kind === 'name';
const isMark = (token: SqlToken | undefined, mark: string): boolean => token?.kind === 'mark' && token.value === mark;

/** Every SELECT of the text must be in the checked tree: parts that the engine does not show are not allowed. */
export function decideShown(statement: string, tree: string): SqlVerdict {
  const written = (tokensOf(statement) ?? []).filter(({ kind, value }) => kind === 'word' && value.toUpperCase() === 'SELECT').length;
  const shown = tree.split('\n').filter((line) => line.trimStart().startsWith('SelectQuery')).length;
  return written <= shown ? { allowed: true } : refuse('a part that the syntax tree does not show', 'write it another way');
}

function decideTokens(tokens: readonly SqlToken[]): TextFinding {
  for (const [at, token] of tokens.entries()) {
    const finding = decideToken(token, tokens[at - 1], tokens[at + 1]);
    if (finding !== undefined) return finding;
  }
  return undefined;
}

function decideToken(token: SqlToken, before: SqlToken | undefined, after: SqlToken | undefined): TextFinding {
  switch (token.kind) {
    case 'parameter':
      return decideParameter(token.value);
    case 'text':
      return isWord(before, 'COLLATE') ? decideCollation(token.value) : undefined;
    case 'mark':
      return token.value === ';' ? refuse('a second statement', 'send one SELECT') : undefined;
    case 'name':
      return decideName(token.value) ?? decideCall(token, before, after);
    case 'word':
      return decideCall(token, before, after);
  }
}

const isWord = (token: SqlToken | undefined, word: string): boolean => token?.kind === 'word' && token.value.toUpperCase() === word;

const decideCollation = (text: string): TextFinding =>
  isCollation(text.slice(1, -1)) ? undefined : refuse(`the collation ${text.slice(0, 40)}`, "name a language, such as 'de'");

function decideParameter(text: string): TextFinding {
  const type = /^\{\s*[A-Za-z_]\w*\s*:(.*)\}$/s.exec(text)?.[1]?.trim() ?? '';
  if (isAllowedType(type)) return undefined;
  if (type.toLowerCase() === 'identifier') return refuse('a parameter of type Identifier', 'write the name into the statement');
  return refuse(`the parameter ${text.slice(0, 80)}`, 'give it a plain type, such as {name:String}');
}

const isOpening = (token: SqlToken | undefined): boolean => isMark(token, '(');

/** Names that WITH gives to queries and their columns: `a AS (SELECT …)`, `b(x, y) AS (SELECT …)`. */
export function declaredByWith(statement: string): readonly string[] {
  const tokens = tokensOf(statement) ?? [];
  return tokens.flatMap((token, at) => {
    const after = tokens[at + 1];
    const opens = isWord(token, 'AS') && (isOpening(after) || isWord(after, 'MATERIALIZED'));
    return opens ? tokens.slice(startOfName(tokens, at - 1), at).flatMap((one) => (isName(one) ? [one.value] : [])) : [];
  });
}

/** Start of the name that ends here, possibly followed by a list of columns. */
function startOfName(tokens: readonly SqlToken[], end: number): number {
  if (!isMark(tokens[end], ')')) return Math.max(0, end);
  let first = end;
  while (first > 0 && !isOpening(tokens[first])) first -= 1;
  return Math.max(0, first - 1);
}

/** Names that could be mistaken for part of a syntax tree line. */
const decideName = (name: string): TextFinding =>
  /\\|\((?:alias|children) /.test(name)
    ? refuse('a quoted name with an escape or with the words of a syntax tree', 'use a plain name')
    : undefined;

function decideCall(token: SqlToken, before: SqlToken | undefined, after: SqlToken | undefined): TextFinding {
  if (!isOpening(after) || isWord(before, 'AS')) return undefined;
  const keyword = token.kind === 'word' && KEYWORDS.has(token.value.toLowerCase());
  if (keyword || isAllowedFunction(token.value) || isAllowedTableFunction(token.value)) return undefined;
  return refuse(`the function "${token.value.slice(0, 80)}"`, 'use a function that reads nothing but its arguments');
}
