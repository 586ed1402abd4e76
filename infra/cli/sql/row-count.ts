// How many rows an answer has, read off its bytes where its format says so.
import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';

export interface RowCount {
  take(bytes: Buffer): void;
  /** Undefined when the format does not tell. */
  rows(): number | undefined;
}

/** Formats with one row a line, and how many lines stand before the first. */
const LINES: Readonly<Record<string, number>> = { TSV: 0, TabSeparated: 0, JSONEachRow: 0, JSONCompactEachRow: 0, TSVWithNames: 1 };
/** A row of a table, or the head of one that was too wide for a table and stands as a list of its columns. */
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
 * Pretty formats number their rows, and say how many there are when they do not show them all. A number that does not
 * follow the last one is of something else: totals, or a line of a text.
 */
function countNumbers(): RowCount {
  const decoder = new StringDecoder('utf8');
  let rows = 0;
  let rest = '';
  // The engine colors its tables in a terminal.
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
