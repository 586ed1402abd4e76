// Parses CSV and TSV as spreadsheets, pandas and Python's `csv` module write them: a quoted cell may contain delimiters, line breaks and
// doubled quotes. The first row names the columns.

/** A row by column name, or the reason why it cannot be read. */
export interface DelimitedRow {
  /** 1-based number of the line on which it begins. */
  readonly line: number;
  readonly row: Readonly<Record<string, string>> | Error;
}

interface DelimitedCells {
  readonly line: number;
  readonly cells: readonly string[];
  /** An unclosed quote swallows the rest of the file. */
  readonly open: boolean;
}

/** The rows of a whole file; blank lines are skipped. */
export function* rowsOfDelimited(text: string, delimiter: ',' | '\t'): Generator<DelimitedRow> {
  let head: readonly string[] | undefined;
  for (const { line, cells, open } of splitRows(text.replace(/^\ufeff/, ''), delimiter)) {
    if (cells.length === 1 && cells[0]?.trim() === '' && !open) continue;
    if (open) yield { line, row: new Error('a quote is opened here and never closed') };
    else if (head === undefined) head = cells.map((name) => name.trim());
    else yield { line, row: named(head, cells) };
  }
}

function named(head: readonly string[], cells: readonly string[]): Readonly<Record<string, string>> | Error {
  if (cells.length > head.length) return new Error(`it has ${cells.length} cells, the first row names ${head.length} columns`);
  return Object.fromEntries(head.map((name, at) => [name, cells[at] ?? '']));
}

function* splitRows(text: string, delimiter: string): Generator<DelimitedCells> {
  const ends = new RegExp(`[${delimiter}\\r\\n]`, 'g');
  let [at, line, first] = [0, 1, 1];
  let cells: string[] = [];
  while (at < text.length) {
    const cell = cellAt(text, at, ends);
    if (cell === undefined) {
      yield { line: first, cells, open: true };
      return;
    }
    cells.push(cell.text);
    line += cell.text.split('\n').length - 1;
    at = cell.end + (text.startsWith('\r\n', cell.end) ? 2 : 1);
    const goesOn = text[cell.end] === delimiter;
    if (goesOn && at < text.length) continue;
    yield { line: first, cells: goesOn ? [...cells, ''] : cells, open: false };
    line += 1;
    [cells, first] = [[], line];
  }
}

/** The cell at `from` and its end; undefined when its quote is never closed. */
function cellAt(text: string, from: number, ends: RegExp): { readonly text: string; readonly end: number } | undefined {
  const close = text[from] === '"' ? closingQuote(text, from) : from - 1;
  if (close === -1 && text[from] === '"') return undefined;
  // as in Python, text after a closing quote belongs to the cell
  ends.lastIndex = close + 1;
  const end = ends.exec(text)?.index ?? text.length;
  const inside = close > from ? text.slice(from + 1, close).replaceAll('""', '"') : '';
  return { text: inside + text.slice(close + 1, end), end };
}

/** Position of the quote that closes the one at `from`; -1 if there is none. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}
