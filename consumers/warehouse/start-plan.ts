// Determines where a sink starts a partition, from the group's commit, the bounds of the log and the content of the tables. Pure.
//
// The ranges of a partition are inserted one after the other, each after the commit of the previous one. So every record that is more than
// RANGE_OFFSETS below the greatest stored offset is stored, and no record above that offset is.

/** Maximum offsets of one range: four times the largest configurable number of records, to allow for markers and aborted records. */
export const RANGE_OFFSETS = 800_000;

export interface StartFacts {
  /** Committed offset of the group; -1 = none. */
  readonly committed: number;
  /** Last offset of the range that the metadata of this commit announces; -1 = none. */
  readonly intended: number;
  /** Bounds of the log. */
  readonly first: number;
  readonly end: number;
  /** Greatest offset that the tables hold; -1 = none near the committed one, or none at all. */
  readonly top: number;
}

export type StartPlan =
  /** `from` -1 = the beginning of the log. Below `askBelow` the tables may already hold some of the records. */
  | { readonly kind: 'read'; readonly from: number; readonly askBelow: number }
  /** The log ends at `from` and lost the offsets up to `to`, although the tables have rows of them or the group has committed them. */
  | { readonly kind: 'tail-cut'; readonly from: number; readonly to: number }
  /** The log begins at `to`; the offsets from `from` on were deleted before they were stored. */
  | { readonly kind: 'head-cut'; readonly from: number; readonly to: number }
  /** The log and the tables have different records at `at`: the tail of the log was cut, and its offsets were reused. */
  | { readonly kind: 'tail-replaced'; readonly at: number };

export function planStart({ committed, intended, first, end, top }: StartFacts): StartPlan {
  const beyond = Math.max(committed, intended + 1, top + 1);
  if (beyond > end) return { kind: 'tail-cut', from: end, to: beyond };
  const stored = committed < 0 ? top + 1 : Math.max(committed, 0);
  if ((committed >= 0 || top >= 0) && stored < first) return { kind: 'head-cut', from: stored, to: first };
  if (committed >= 0) return { kind: 'read', from: committed, askBelow: top + 1 };
  return { kind: 'read', from: top < 0 ? -1 : Math.max(first, top + 1 - RANGE_OFFSETS), askBelow: top + 1 };
}
