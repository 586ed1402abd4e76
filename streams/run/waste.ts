// When a run is not worth going on with: it discards nearly all that it pays for, nobody finishes, or its steps change nothing.
// Pure, over what the ledger says of the groups that closed last, so that a restart comes to the same verdict.

/** Why a group was not kept; empty for one that was trained or collected. */
export type GroupFate = '' | 'uniform_group' | 'stale' | 'incomplete';

/** Fewer trajectories of a group finished than there have to be. */
export const UNFINISHED = 'incomplete';

/** What the reason of a discard says of its group; reasons of single attempts say that the group did not finish, unless another one says more. */
export const fateOf = (reason: string): GroupFate => (reason === 'uniform_group' || reason === 'stale' ? reason : UNFINISHED);

/** Groups that are looked back at, at most. */
export const RECENT_GROUPS = 1_024;

export interface WasteRules {
  readonly batchGroups: number;
  /** Share of the recent groups that may be discarded, 0 to 1; 1 = the run never ends for it. */
  readonly maxDiscarded: number;
}

export interface Waste {
  readonly groups: number;
  /** Of them. */
  readonly discarded: number;
  /** How often each reason occurs, most frequent first. */
  readonly reasons: readonly (readonly [string, number])[];
}

export type WasteVerdict =
  | { readonly kind: 'fine' }
  /** More than half was discarded: to be told. */
  | { readonly kind: 'wasteful'; readonly waste: Waste }
  /** To be ended. */
  | { readonly kind: 'hopeless'; readonly reason: HopelessReason; readonly waste: Waste };

export type HopelessReason = 'mostly_discarded' | 'nothing_finished' | 'nothing_learned';

/** Groups before anything is said, and the batches that they are at least. */
const LEAST_GROUPS = 64;
const LEAST_BATCHES = 4;
/** Groups in a row of which nobody finished. */
const UNFINISHED_GROUPS = 16;
/** Steps in a row that change nothing. */
const IDLE_STEPS = 3;
const HALF = 0.5;

const wasteIn = (recent: readonly GroupFate[]): Waste => {
  const reasons = new Map<string, number>();
  for (const reason of recent) if (reason !== '') reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const discarded = [...reasons.values()].reduce((sum, count) => sum + count, 0);
  return { groups: recent.length, discarded, reasons: [...reasons].sort(([, a], [, b]) => b - a) };
};

/** Groups that a verdict is over. */
export const windowOf = ({ batchGroups }: Pick<WasteRules, 'batchGroups'>): number =>
  Math.min(RECENT_GROUPS, Math.max(LEAST_GROUPS, LEAST_BATCHES * batchGroups));

export interface RecentGroups {
  /** Fates of the groups that closed, oldest first. */
  readonly recent: readonly GroupFate[];
  /** Groups that wait for a batch to be full: they are not closed, and not wasted either. */
  readonly decided: { readonly size: number };
  /** Steps in a row that changed no weight. */
  readonly idleSteps: number;
}

/** Nothing is ever hopeless while all may be discarded. */
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
