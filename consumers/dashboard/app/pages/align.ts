// Aligns the turns of attempts by action (tool and arguments) with a minimum edit distance.

export interface Act {
  readonly turn: number;
  readonly tool: string;
  readonly arguments: string;
}

export interface AlignedPair {
  readonly kind: 'same' | 'changed' | 'left' | 'right';
  readonly left: number;
  readonly right: number;
}

const isSame = (a: Act, b: Act): boolean => a.tool === b.tool && a.arguments === b.arguments;

/** Cost of a turn without a counterpart. Different arguments cost less; a different tool costs slightly less than two unmatched turns. */
const LEFT_OUT = 1.2;

const costOf = (a: Act | undefined, b: Act | undefined): number => {
  if (a === undefined || b === undefined) return Infinity;
  return isSame(a, b) ? 0 : a.tool === b.tool ? 1 : 2.2;
};

/** Cost of aligning the suffixes from each index pair. */
function alignmentCosts(left: readonly Act[], right: readonly Act[]): (row: number, column: number) => number {
  const costs = Array.from({ length: left.length + 1 }, () => new Float64Array(right.length + 1).fill(Infinity));
  const at = (row: number, column: number): number => costs[row]?.[column] ?? Infinity;
  for (let row = left.length; row >= 0; row -= 1) {
    for (let column = right.length; column >= 0; column -= 1) {
      const ways = [
        LEFT_OUT + at(row + 1, column),
        LEFT_OUT + at(row, column + 1),
        costOf(left[row], right[column]) + at(row + 1, column + 1),
      ];
      const line = costs[row];
      if (line !== undefined) line[column] = row === left.length && column === right.length ? 0 : Math.min(...ways);
    }
  }
  return at;
}

/** Turns of both sides in order; -1 where a side has none. */
export function alignActs(left: readonly Act[], right: readonly Act[]): readonly AlignedPair[] {
  const at = alignmentCosts(left, right);
  const pairs: AlignedPair[] = [];
  let [row, column] = [0, 0];
  while (row < left.length || column < right.length) {
    const change = costOf(left[row], right[column]);
    if (at(row, column) === change + at(row + 1, column + 1)) {
      pairs.push({ kind: change === 0 ? 'same' : 'changed', left: row, right: column });
      row += 1;
      column += 1;
    } else if (at(row, column) === LEFT_OUT + at(row + 1, column)) {
      pairs.push({ kind: 'left', left: row, right: -1 });
      row += 1;
    } else {
      pairs.push({ kind: 'right', left: -1, right: column });
      column += 1;
    }
  }
  return pairs;
}

/** Aligns all attempts with the first one. A row has the index of one turn of each attempt, -1 where an attempt has none. */
export function alignAll(attempts: readonly (readonly Act[])[]): readonly (readonly number[])[] {
  const [first = [], ...others] = attempts;
  const own = first.map((_, at) => [at, ...others.map(() => -1)]);
  /** Rows of turns that the first attempt lacks, by the index of its turn that follows them. */
  const between = Array.from({ length: first.length + 1 }, (): number[][] => []);
  for (const [at, other] of others.entries()) {
    let [next, extra] = [0, 0];
    for (const { left, right } of alignActs(first, other)) {
      const gap = between[next] ?? [];
      const row = left >= 0 ? own[left] : (gap[extra] ??= attempts.map(() => -1));
      if (row !== undefined && right >= 0) row[at + 1] = right;
      [next, extra] = left >= 0 ? [left + 1, 0] : [next, extra + 1];
    }
  }
  return between.flatMap((rows, at) => {
    const row = own[at];
    return row === undefined ? rows : [...rows, row];
  });
}

/** Where a block of pairs may end: after the last equal pair in its second half, so that the next block starts aligned. */
export function cutAt(pairs: readonly AlignedPair[]): number {
  const last = pairs.findLastIndex(({ kind }) => kind === 'same');
  return last < pairs.length / 2 ? pairs.length : last + 1;
}

export interface TextPart {
  readonly text: string;
  readonly isOwn: boolean;
}

const MOST_WORDS = 1_500;

const wordsOf = (text: string): readonly string[] => text.split(/(?<=\s)/).slice(0, MOST_WORDS);

/** Number of words that the suffixes from each index pair have in common. */
function sharedWords(left: readonly string[], right: readonly string[]): (i: number, j: number) => number {
  const width = right.length + 1;
  const shared = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number): number => shared[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1)
      shared[i * width + j] = left[i] === right[j] ? 1 + at(i + 1, j + 1) : Math.max(at(i + 1, j), at(i, j + 1));
  }
  return at;
}

function add(parts: TextPart[], text: string, isOwn: boolean): void {
  const last = parts.at(-1);
  if (last?.isOwn === isOwn) parts[parts.length - 1] = { text: last.text + text, isOwn };
  else parts.push({ text, isOwn });
}

/** Splits two texts into words and marks those that differ. Long texts are cut at a limit. */
export function diffWords(a: string, b: string): readonly [readonly TextPart[], readonly TextPart[]] {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  const shared = sharedWords(left, right);
  const ofLeft: TextPart[] = [];
  const ofRight: TextPart[] = [];
  let [i, j] = [0, 0];
  for (let one = left[i], two = right[j]; one !== undefined || two !== undefined; one = left[i], two = right[j]) {
    const isShared = one !== undefined && one === two;
    const fromLeft = isShared || two === undefined || (one !== undefined && shared(i + 1, j) >= shared(i, j + 1));
    if (fromLeft) {
      add(ofLeft, one ?? '', !isShared);
      i += 1;
    }
    if (isShared || !fromLeft) {
      add(ofRight, two ?? '', !isShared);
      j += 1;
    }
  }
  return [ofLeft, ofRight];
}
