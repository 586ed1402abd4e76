// Which rows of a long list are drawn. All rows have the same height, so a row's position is its index times the height.

export const ROW_PX = 28;
const MARGIN_ROWS = 12;

export interface VisibleRows {
  /** First drawn row. */
  readonly from: number;
  /** End of the drawn rows, exclusive. */
  readonly to: number;
}

/** The rows to draw at a scroll position, with a margin so that scrolling shows no gap. */
export function rowsAt(scrollTop: number, height: number, count: number): VisibleRows {
  const from = Math.max(0, Math.floor(scrollTop / ROW_PX) - MARGIN_ROWS);
  const to = Math.min(count, Math.ceil((scrollTop + height) / ROW_PX) + MARGIN_ROWS);
  return { from: Math.min(from, Math.max(0, to)), to: Math.max(to, 0) };
}

/** The scroll position at which a row is visible; unchanged if the row is visible already and at least one row away from both edges. */
export function scrollFor(row: number, scrollTop: number, height: number): number {
  const top = row * ROW_PX;
  if (top < scrollTop + ROW_PX) return Math.max(0, top - Math.floor(height / 3));
  if (top + ROW_PX > scrollTop + height - ROW_PX) return Math.max(0, top - Math.floor((2 * height) / 3));
  return scrollTop;
}

/** The key of the row `by` rows after the selected one, clamped to the list; the first if no listed row is selected and `by` is 1 or -1. */
export function keyAfter(keys: readonly string[], selected: string | undefined, by: number): string | undefined {
  const at = selected === undefined ? -1 : keys.indexOf(selected);
  return keys[Math.max(0, Math.min(keys.length - 1, at + by))];
}
