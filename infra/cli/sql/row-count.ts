// Counts the rows of a result from its bytes, for formats that allow it.
import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';

export interface RowCount {
  take(bytes: Buffer): void;
  /** Undefined when the format does not allow counting. */
  rows(): number | undefined;
}

/** Formats with one row per line, and the number of header lines. */
const LINES: Readonly<Record<string, number>> = { TSV: 0, TabSeparated: 0, JSONEachRow: 0, JSONCompactEachRow: 0, TSVWithNames: 1 };
/** A row of a table, or the heading of a row that is too wide for a table and is printed as a list of columns. */
const NUMBERED = /^\s*(\d+)\. |^Row (\d+):$/;
const SHOWN = /^Showed (?:first )?\d+ out of (\d+) rows/;
const NUMBERS = /^(?:Pretty(?!JSON)|Vertical$)/;
const LINE_END = 10;

export function createRowCount(format: string): RowCount {
  const head = LINES[format];
  if (head !== undefined) return countLines(head);
  return NUMBERS.test(format) ? countNumbers() : { take: () => undefined, rows: () => undefined };
}

function countLines(head: number): RowCount {
  let lines = 0;
  return {
    take(bytes) {
      for (let at = bytes.indexOf(LINE_END); at >= 0; at = bytes.indexOf(LINE_END, at + 1)) lines += 1;
    },
    rows: () => Math.max(0, lines - head),
  };
}

/**
 * Pretty formats number their rows, and print the total when they do not show all rows. A number that does not follow the previous one
 * belongs to something else: totals, or a line of a text.
 */
function countNumbers(): RowCount {
  const decoder = new StringDecoder('utf8');
  let rows = 0;
  let rest = '';
  // ClickHouse colors its tables in a terminal.
  const look = (colored: string): void => {
    const line = stripVTControlCharacters(colored);
    const [, inTable, inList] = NUMBERED.exec(line) ?? [];
    const shown = SHOWN.exec(line)?.[1];
    if (shown !== undefined) rows = Number(shown);
    else if (Number(inTable ?? inList) === rows + 1) rows += 1;
  };
  return {
    take(bytes) {
      const lines = (rest + decoder.write(bytes)).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(look);
    },
    rows: () => rows,
  };
}
