// Tab completion at the SQL prompt: tables where a table belongs, columns of the tables in the statement, functions and keywords. Pure.

export interface SqlWords {
  /** Columns by table, in table order. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
  readonly functions: readonly string[];
}

export interface Completion {
  /** Replacements for `word`. */
  readonly hits: readonly string[];
  readonly word: string;
}

const KEYWORDS = (
  'SELECT DISTINCT FROM PREWHERE WHERE GROUP BY HAVING ORDER LIMIT OFFSET WITH AS AND OR NOT IN LIKE ILIKE BETWEEN IS NULL CASE WHEN THEN ELSE END ' +
  'INNER LEFT RIGHT FULL CROSS ASOF JOIN USING ON ARRAY UNION ALL ASC DESC INTERVAL OVER PARTITION SHOW TABLES DESCRIBE'
).split(' ');

/** Strings, quoted names and comments; an unclosed one extends to the end. */
const QUOTED = /'(?:[^'\\]|\\.|'')*(?:'|$)|`(?:[^`\\]|\\.)*(?:`|$)|"(?:[^"\\]|\\.)*(?:"|$)|--[^\n]*|\/\*.*?(?:\*\/|$)/gs;
const WORD = /[A-Za-z_][\w.]*$/;
const WANTS_TABLE = /(?:\b(?:from|join|describe|desc|table)\s+|^\s*\\d\s+|\bfrom\s+[\w\s,]*,\s*)$/i;
const SOURCE = /\b(?:from|join)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?|,\s*(\w+)(?:\s+(?:as\s+)?(\w+))?/gi;

/** `before` is the text before the cursor, `whole` the whole statement. */
export function completeSql(before: string, words: SqlWords, whole: string = before): Completion {
  const word = wordAtEnd(before);
  if (isQuoted(before)) return { hits: [], word };
  const head = before.slice(0, before.length - word.length);
  if (WANTS_TABLE.test(head)) return { hits: startingWith(word, [...words.tables.keys()]), word };
  const sources = sourcesOf(whole, words);
  const owner = /^(.*)\.[^.]*$/s.exec(word)?.[1];
  if (owner !== undefined) {
    const columns = words.tables.get(sources.get(owner) ?? owner) ?? [];
    return {
      hits: startingWith(
        word,
        columns.map((column) => `${owner}.${column}`),
      ),
      word,
    };
  }
  return { hits: word === '' ? columnsOf(sources, words) : startingWith(word, namesFor(word, sources, words)), word };
}

/** Columns of the tables in the statement. */
const columnsOf = (sources: ReadonlyMap<string, string>, { tables }: SqlWords): readonly string[] =>
  unique([...new Set(sources.values())].flatMap((table) => tables.get(table) ?? []));

/** Everything that an expression can begin with; columns of all tables until the statement names one. */
function namesFor(word: string, sources: ReadonlyMap<string, string>, words: SqlWords): readonly string[] {
  const columns = sources.size > 0 ? columnsOf(sources, words) : [...words.tables.values()].flat();
  return unique([...columns, ...sources.keys(), ...words.functions.map((name) => `${name}(`), ...keywordsLike(word)]);
}

const wordAtEnd = (text: string): string => WORD.exec(text)?.[0] ?? '';

function isQuoted(before: string): boolean {
  const last = [...before.matchAll(QUOTED)].at(-1);
  if (last === undefined || last.index + last[0].length < before.length) return false;
  return last[0].startsWith('--') || last[0].length < 2 || !/(?:['"`]|\*\/)$/.test(last[0]);
}

/** Tables of a statement by name and alias. */
function sourcesOf(statement: string, { tables }: SqlWords): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const plain = statement.replace(QUOTED, ' ');
  for (const [, first, firstAlias, next, nextAlias] of plain.matchAll(SOURCE)) {
    const table = first ?? next ?? '';
    const alias = firstAlias ?? nextAlias;
    if (!tables.has(table)) continue;
    found.set(table, table);
    if (alias !== undefined && !KEYWORDS.includes(alias.toUpperCase())) found.set(alias, table);
  }
  return found;
}

/** Keywords in the case that the user types. */
const keywordsLike = (word: string): readonly string[] =>
  /^[A-Z]/.test(word) ? KEYWORDS : KEYWORDS.map((keyword) => keyword.toLowerCase());

const unique = (names: readonly string[]): readonly string[] => [...new Set(names)];

/** Names that match the typed case; if there are none, names in any case. */
function startingWith(word: string, names: readonly string[]): readonly string[] {
  const exact = names.filter((name) => name.startsWith(word));
  if (exact.length > 0) return exact;
  const lower = word.toLowerCase();
  return names.filter((name) => name.toLowerCase().startsWith(lower));
}
