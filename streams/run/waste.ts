// Detects a run that is not worth continuing: it discards nearly all of its work, no group finishes, or its steps change nothing. Pure,
// over the groups that closed last according to the ledger, so that a restart reaches the same verdict.

/** Why a group was not kept; empty for one that was trained or collected. One that a rewind discarded is ignored. */
export type GroupFate = '' | 'uniform_group' | 'stale' | 'unknown_version' | 'rewound' | 'incomplete';

const OWN_FATES: ReadonlySet<string> = new Set(['uniform_group', 'stale', 'unknown_version', 'rewound']);

/** Too few trajectories of a group finished. */
export const UNFINISHED = 'incomplete';

/**
 * Maps the reason of a discard to the fate of its group; a reason that concerns a single attempt means that the group did not finish,
 * unless another discard says more.
 */
export const fateOf = (reason: string): GroupFate => (OWN_FATES.has(reason) ? (reason as GroupFate) : UNFINISHED);

/** Maximum size of a window, in groups. */
export const RECENT_GROUPS = 1_024;

export interface WasteRules {
  readonly batchGroups: number;
  /** Share of the recent groups that may be discarded, 0 to 1; 1 = never ends the run. */
  readonly maxDiscarded: number;
}

export interface Waste {
  readonly groups: number;
  /** How many of these groups were discarded. */
  readonly discarded: number;
  /** How often each reason occurs, most frequent first. */
  readonly reasons: readonly (readonly [string, number])[];
}

export type WasteVerdict =
  | { readonly kind: 'fine' }
  /** More than half was discarded: warn. */
  | { readonly kind: 'wasteful'; readonly waste: Waste }
  /** Stop the run. */
  | { readonly kind: 'hopeless'; readonly reason: HopelessReason; readonly waste: Waste };

export type HopelessReason = 'mostly_discarded' | 'nothing_finished' | 'nothing_learned';

/** Minimum size of a window, in groups and in batches. */
const LEAST_GROUPS = 64;
const LEAST_BATCHES = 4;
/** Consecutive groups in which too few trajectories finished. */
const UNFINISHED_GROUPS = 16;
/** Consecutive steps that change nothing. */
const IDLE_STEPS = 3;
const HALF = 0.5;

const wasteIn = (recent: readonly GroupFate[]): Waste => {
  const reasons = new Map<string, number>();
  for (const reason of recent) if (reason !== '') reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const discarded = [...reasons.values()].reduce((sum, count) => sum + count, 0);
  return { groups: recent.length, discarded, reasons: [...reasons].sort(([, a], [, b]) => b - a) };
};

/** Number of recent groups that a verdict on the share of discards covers; it covers more if more were discarded in a row. */
export const windowOf = ({ batchGroups }: Pick<WasteRules, 'batchGroups'>): number =>
  Math.min(RECENT_GROUPS, Math.max(LEAST_GROUPS, LEAST_BATCHES * batchGroups));

export interface RecentGroups {
  /** Fates of the closed groups, oldest first. */
  readonly recent: readonly GroupFate[];
  /** Groups that wait for a full batch: they are neither closed nor wasted. */
  readonly decided: { readonly size: number };
  /** Consecutive steps that changed no weight. */
  readonly idleSteps: number;
}

/** A run whose rules allow everything to be discarded is never hopeless. */
export function judgeWaste({ recent, decided, idleSteps }: RecentGroups, rules: WasteRules): WasteVerdict {
  const mayEnd = rules.maxDiscarded < 1;
  const last = recent.slice(-UNFINISHED_GROUPS);
  if (mayEnd && idleSteps >= IDLE_STEPS) return { kind: 'hopeless', reason: 'nothing_learned', waste: wasteIn(recent) };
  if (mayEnd && last.length === UNFINISHED_GROUPS && last.every((reason) => reason === UNFINISHED))
    return { kind: 'hopeless', reason: 'nothing_finished', waste: wasteIn(last) };
  const window = windowOf(rules);
  if (recent.length < window) return { kind: 'fine' };
  const inARow = recent.length - 1 - recent.lastIndexOf('');
  const found = wasteIn(recent.slice(-Math.max(window, inARow)));
  const waste = { ...found, groups: found.groups + decided.size };
  const share = waste.discarded / waste.groups;
  if (share > rules.maxDiscarded) return { kind: 'hopeless', reason: 'mostly_discarded', waste };
  return share > HALF ? { kind: 'wasteful', waste } : { kind: 'fine' };
}
