// Where a sink begins with a partition, out of what the group has committed, what the log has and what the tables hold.
// Pure.
//
// The ranges of a partition go in one after the other, each behind the commit of the one before. So whatever lies more
// than a range below the greatest offset that the tables hold is in, and what lies above it is not.

/** Offsets of one range at most: four times the greatest number of records that may be configured, for markers and aborted records. */
export const RANGE_OFFSETS = 800_000;

export interface Known {
  /** Of the group; -1 = none. */
  readonly committed: number;
  /** Last offset of the range that was announced with it; -1 = none. */
  readonly intended: number;
  /** Bounds of the log. */
  readonly first: number;
  readonly end: number;
  /** Greatest offset that the tables hold; -1 = none that is near the committed one, or none at all. */
  readonly top: number;
}

export type StartPlan =
  /** `from` -1 = wherever the log begins. Below `askBelow` the tables may hold some of what is read. */
  | { readonly kind: 'read'; readonly from: number; readonly askBelow: number }
  /** The log ends at `end` and has lost what lies between, of which the tables hold rows or the group an offset. */
  | { readonly kind: 'tail-cut'; readonly from: number; readonly to: number }
  /** The log begins at `to`; what lies between was deleted before it was stored. */
  | { readonly kind: 'head-cut'; readonly from: number; readonly to: number }
  /** The log has another record at `at` than the tables: its tail was cut, and the offsets were used again. */
  | { readonly kind: 'tail-replaced'; readonly at: number };

export function planStart({ committed, intended, first, end, top }: Known): StartPlan {
  const beyond = Math.max(committed, intended + 1, top + 1);
  if (beyond > end) return { kind: 'tail-cut', from: end, to: beyond };
  const stored = committed < 0 ? top + 1 : Math.max(committed, 0);
  if ((committed >= 0 || top >= 0) && stored < first) return { kind: 'head-cut', from: stored, to: first };
  if (committed >= 0) return { kind: 'read', from: committed, askBelow: top + 1 };
  return { kind: 'read', from: top < 0 ? -1 : Math.max(first, top + 1 - RANGE_OFFSETS), askBelow: top + 1 };
}
