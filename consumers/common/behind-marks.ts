// The rows of a table that come after the marks of a background job that reads the table by offset.

export interface TableMark {
  readonly partition: number;
  /** Rows before this offset have been processed. */
  readonly offset: number;
}

/**
 * A condition that holds for all rows that no mark covers, and for few others, so that an index on the partition and the offset can skip
 * granules. If a partition below the highest marked one has no mark, it holds for every row.
 */
export function behindMarks(marks: readonly TableMark[]): { readonly sql: string; readonly params: Readonly<Record<string, number>> } {
  const most = Math.max(-1, ...marks.map(({ partition }) => partition));
  const isComplete = marks.length > 0 && marks.length === most + 1;
  return {
    sql: '(_offset >= {mark_least:Int64} or _partition > {mark_most:Int32})',
    params: { mark_least: isComplete ? Math.min(...marks.map(({ offset }) => offset)) : 0, mark_most: most },
  };
}
