// Which rows of a long list are drawn: rows have one height, so a place is one multiplication and nothing is measured.

export const ROW_PX = 28;
const MARGIN_ROWS = 12;

export interface VisibleRows {
  /** First row that is drawn. */
  readonly from: number;
  /** Behind the last row that is drawn. */
  readonly to: number;
}

/** Rows to draw for a place in the list, with a margin so that scrolling shows no gap. */
export function rowsAt(scrollTop: number, height: number, count: number): VisibleRows {
  const from = Math.max(0, Math.floor(scrollTop / ROW_PX) - MARGIN_ROWS);
  const to = Math.min(count, Math.ceil((scrollTop + height) / ROW_PX) + MARGIN_ROWS);
  return { from: Math.min(from, Math.max(0, to)), to: Math.max(to, 0) };
}

/** Where to scroll so that a row is seen: where it is already, if it is. */
export function scrollFor(row: number, scrollTop: number, height: number): number {
  const top = row * ROW_PX;
  if (top < scrollTop + ROW_PX) return Math.max(0, top - Math.floor(height / 3));
  if (top + ROW_PX > scrollTop + height - ROW_PX) return Math.max(0, top - Math.floor((2 * height) / 3));
  return scrollTop;
}
