// Attempts at one question beside each other: turns are aligned by what they did (tool and arguments), as a shortest edit.

export interface Act {
  readonly turn: number;
  readonly tool: string;
  readonly arguments: string;
}

export interface Pair {
  readonly kind: 'same' | 'changed' | 'left' | 'right';
  readonly left: number;
  readonly right: number;
}

const isSame = (a: Act, b: Act): boolean => a.tool === b.tool && a.arguments === b.arguments;

/** Turns of both sides in order; -1 where a side has none. The cost of another argument is below that of a turn left out. */
export function alignActs(left: readonly Act[], right: readonly Act[]): readonly Pair[] {
  const [rows, columns] = [left.length, right.length];
  const cost = Array.from({ length: rows + 1 }, () => new Float64Array(columns + 1));
  const at = (row: number, column: number): number => cost[row]?.[column] ?? Infinity;
  const change = (row: number, column: number): number => {
    const [a, b] = [left[row], right[column]];
    if (a === undefined || b === undefined) return Infinity;
    return isSame(a, b) ? 0 : a.tool === b.tool ? 1 : 2.2;
  };
  for (let row = rows; row >= 0; row -= 1) {
    for (let column = columns; column >= 0; column -= 1) {
      const best = Math.min(
        row < rows ? 1.2 + at(row + 1, column) : Infinity,
        column < columns ? 1.2 + at(row, column + 1) : Infinity,
        row < rows && column < columns ? change(row, column) + at(row + 1, column + 1) : Infinity,
      );
      const line = cost[row];
      if (line !== undefined) line[column] = row === rows && column === columns ? 0 : best;
    }
  }
  const pairs: Pair[] = [];
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    if (row < rows && column < columns && at(row, column) === change(row, column) + at(row + 1, column + 1)) {
      pairs.push({ kind: change(row, column) === 0 ? 'same' : 'changed', left: row, right: column });
      row += 1;
      column += 1;
    } else if (row < rows && at(row, column) === 1.2 + at(row + 1, column)) {
      pairs.push({ kind: 'left', left: row, right: -1 });
      row += 1;
    } else {
      pairs.push({ kind: 'right', left: -1, right: column });
      column += 1;
    }
  }
  return pairs;
}

export interface Part {
  readonly text: string;
  readonly isOwn: boolean;
}

const MOST_WORDS = 1_500;

/** Two texts in words, each word marked that the other does not have at that place. Long texts are compared from their beginning. */
export function diffWords(a: string, b: string): readonly [readonly Part[], readonly Part[]] {
  const [left, right] = [a, b].map((text) => text.split(/(?<=\s)/).slice(0, MOST_WORDS)) as [string[], string[]];
  const width = right.length + 1;
  const length = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      length[i * width + j] =
        left[i] === right[j]
          ? 1 + (length[(i + 1) * width + j + 1] ?? 0)
          : Math.max(length[(i + 1) * width + j] ?? 0, length[i * width + j + 1] ?? 0);
    }
  }
  const [ofLeft, ofRight]: [Part[], Part[]] = [[], []];
  const add = (parts: Part[], text: string, isOwn: boolean): void => {
    const last = parts.at(-1);
    if (last?.isOwn === isOwn) parts[parts.length - 1] = { text: last.text + text, isOwn };
    else parts.push({ text, isOwn });
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      add(ofLeft, left[i] ?? '', false);
      add(ofRight, right[j] ?? '', false);
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && (length[(i + 1) * width + j] ?? 0) >= (length[i * width + j + 1] ?? 0))) {
      add(ofLeft, left[i] ?? '', true);
      i += 1;
    } else {
      add(ofRight, right[j] ?? '', true);
      j += 1;
    }
  }
  return [ofLeft, ofRight];
}
