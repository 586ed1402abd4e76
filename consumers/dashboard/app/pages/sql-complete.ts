// Completions for the word before the caret: tables after FROM and JOIN, otherwise columns of the tables in the statement, then everything
// else. No DOM, for tests.

export interface ApiTable {
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly comment: string }[];
}

interface OfferedName {
  readonly text: string;
  /** Its type, or what kind of name it is. */
  readonly note: string;
}

export interface CompletionAt {
  /** Start of the word that a completion replaces. */
  readonly from: number;
  readonly found: readonly OfferedName[];
}

const MOST = 12;
const keywords = [
  ...['SELECT', 'FROM', 'WHERE', 'GROUP BY', 'ORDER BY', 'LIMIT', 'HAVING', 'INNER JOIN', 'LEFT JOIN', 'USING', 'WITH', 'DISTINCT'],
  ...['UNION ALL', 'BETWEEN', 'DESC', 'count()', 'countIf(', 'avg(', 'sum(', 'min(', 'max(', 'quantile(0.95)(', 'argMax(', 'uniqExact('],
  ...['toStartOfMinute(', 'round('],
].map((text): OfferedName => ({ text, note: '' }));

const BEHIND_FROM = /\b(from|join)\s+[\w.]*$/i;

const namedTables = (text: string, tables: readonly ApiTable[]): readonly ApiTable[] => {
  const words = new Set([...text.matchAll(/\b(?:from|join)\s+(\w+)/gi)].map(([, name = '']) => name.toLowerCase()));
  return tables.filter(({ table }) => words.has(table));
};

const columnsOfTables = (tables: readonly ApiTable[]): readonly OfferedName[] => {
  const known = new Map<string, OfferedName>();
  for (const { columns } of tables) for (const { name, type } of columns) known.set(name, { text: name, note: type });
  return [...known.values()];
};

/** Names that start with the word before those that contain it, without the word itself. */
function fitting(word: string, of: readonly OfferedName[]): readonly OfferedName[] {
  const sought = word.toLowerCase();
  const begins = of.filter(({ text }) => text.toLowerCase().startsWith(sought));
  const holds = sought.length < 3 ? [] : of.filter((one) => !begins.includes(one) && one.text.toLowerCase().includes(sought));
  return [...begins, ...holds].filter(({ text }) => text !== word);
}

export function completionsFor(text: string, caret: number, tables: readonly ApiTable[]): CompletionAt {
  const before = text.slice(0, caret);
  const word = /\w*$/.exec(before)?.[0] ?? '';
  const from = caret - word.length;
  const owner = /(\w+)\.$/.exec(before.slice(0, from))?.[1]?.toLowerCase();
  const isInText = (before.match(/'/g)?.length ?? 0) % 2 === 1;
  if (isInText) return { from, found: [] };
  if (owner !== undefined) {
    const found = fitting(word, columnsOfTables(tables.filter(({ table }) => table === owner)));
    return { from, found: found.slice(0, MOST) };
  }
  const names = tables.map(({ table }): OfferedName => ({ text: table, note: 'table' }));
  if (BEHIND_FROM.test(before)) return { from, found: fitting(word, names).slice(0, MOST) };
  if (word === '') return { from, found: [] };
  const all = [...columnsOfTables(namedTables(text, tables)), ...keywords, ...names];
  return { from, found: fitting(word, all).slice(0, MOST) };
}

/** The statement with the word replaced by the completion, and the new caret. */
export function complete(
  text: string,
  caret: number,
  { from, chosen }: { readonly from: number; readonly chosen: string },
): { readonly text: string; readonly caret: number } {
  return { text: text.slice(0, from) + chosen + text.slice(caret), caret: from + chosen.length };
}
