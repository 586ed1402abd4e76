// A fold of the raw records of a run, written for clarity and independent of the trainer's: for every trajectory its attempts, which of
// them was complete first, and what the records say about it.
import type { EndPart, RolloutFact, RunFacts, TurnPart } from './facts.ts';

export interface AttemptHistory {
  readonly number: number;
  /** Records by sequence number; the first record of an id counts. */
  readonly records: ReadonlyMap<number, RolloutFact>;
  readonly workers: ReadonlySet<string>;
  /** Sequence numbers that occur twice with different content. */
  readonly conflicting: number;
  readonly end: (EndPart & { readonly sequence: number }) | undefined;
}

export interface TrajectoryHistory {
  readonly id: string;
  readonly group: string;
  readonly partition: number;
  readonly firstOffset: number;
  readonly attempts: ReadonlyMap<number, AttemptHistory>;
  /** The first attempt that ended well and has no gap, in log order. */
  readonly winner: AttemptHistory | undefined;
  /** Offset of the record that completed the winner; -1 without a winner. */
  readonly wonAt: number;
}

interface RefoldedAttempt {
  readonly number: number;
  readonly records: Map<number, RolloutFact>;
  readonly workers: Set<string>;
  conflicting: number;
  end: AttemptHistory['end'];
}

interface RefoldedTrajectory {
  readonly id: string;
  readonly group: string;
  readonly partition: number;
  readonly firstOffset: number;
  readonly attempts: Map<number, RefoldedAttempt>;
  winner: RefoldedAttempt | undefined;
  wonAt: number;
}

/** Histories by trajectory. */
export function refold(rollouts: RunFacts['rollouts']): ReadonlyMap<string, TrajectoryHistory> {
  const trajectories = new Map<string, RefoldedTrajectory>();
  for (const fact of rollouts) {
    const { trajectory: id, group, partition, offset } = fact;
    let trajectory = trajectories.get(id);
    if (trajectory === undefined) {
      trajectory = { id, group, partition, firstOffset: offset, attempts: new Map(), winner: undefined, wonAt: -1 };
      trajectories.set(id, trajectory);
    }
    const attempt = addRecord(trajectory, fact);
    if (trajectory.winner === undefined && isWhole(attempt)) {
      trajectory.winner = attempt;
      trajectory.wonAt = offset;
    }
  }
  return trajectories;
}

function addRecord(trajectory: RefoldedTrajectory, fact: RolloutFact): RefoldedAttempt {
  let attempt = trajectory.attempts.get(fact.attempt);
  if (attempt === undefined) {
    attempt = { number: fact.attempt, records: new Map(), workers: new Set(), conflicting: 0, end: undefined };
    trajectory.attempts.set(fact.attempt, attempt);
  }
  attempt.workers.add(fact.worker);
  const known = attempt.records.get(fact.sequence);
  if (known === undefined) {
    attempt.records.set(fact.sequence, fact);
    if (fact.part.kind === 'finished') attempt.end ??= { ...fact.part, sequence: fact.sequence };
  } else if (known.sha256 !== fact.sha256) {
    attempt.conflicting += 1;
  }
  return attempt;
}

const COUNTING: readonly string[] = ['answered', 'max_turns', 'max_tokens', 'timeout'];

/** It ended in a way that counts, every record up to its end is there, and they contain the number of tokens that its end reports. */
export function isWhole({ end, records }: Pick<AttemptHistory, 'end' | 'records'>): boolean {
  if (end === undefined || !COUNTING.includes(end.status) || !Number.isFinite(end.reward)) return false;
  if (records.size !== end.sequence + 1 || Math.max(...records.keys()) !== end.sequence) return false;
  return [...records.values()].reduce((sum, { part }) => sum + (part.kind === 'turn' ? Math.max(0, part.tokens) : 0), 0) === end.tokens;
}

/** Turns in order. */
export const turnsOf = ({ records }: AttemptHistory): readonly TurnPart[] =>
  [...records].sort(([a], [b]) => a - b).flatMap(([, { part }]) => (part.kind === 'turn' ? [part] : []));

export interface RefoldedAccount {
  readonly tokens: number;
  readonly version_first: number;
  readonly version_last: number;
  readonly staleness_total: number;
  readonly staleness_in_flight: number;
  readonly staleness_in_queue: number;
  readonly staleness_worst: number;
  readonly staleness_best: number;
  readonly staleness_span: number;
  readonly staleness_token_mean: number;
  readonly staleness_token_p95: number;
  readonly staleness_token_max: number;
  readonly unknown_tokens: number;
}

/** Versions of the tokens of a turn; tokens that no span covers are left out. */
function versionsBehind({ spans, tokens }: TurnPart): readonly { readonly version: number; readonly tokens: number }[] {
  let left = Math.max(0, tokens);
  const behind = spans.map(({ version, tokens: claimed }) => {
    const own = Math.min(Math.max(0, claimed), left);
    left -= own;
    return { version, tokens: own };
  });
  return left > 0 || spans.length === 0 ? [...behind, { version: -1, tokens: left }] : behind;
}

/** A histogram of token ages: number of tokens by age in versions. */
export type Ages = ReadonlyMap<number, number>;

export function agesOf(attempt: AttemptHistory, version: number): Ages {
  const ages = new Map<number, number>();
  for (const span of turnsOf(attempt).flatMap(versionsBehind)) {
    if (span.tokens > 0 && isKnown(span.version, version)) {
      ages.set(version - span.version, (ages.get(version - span.version) ?? 0) + span.tokens);
    }
  }
  return ages;
}

const isKnown = (of: number, version: number): boolean => of >= 0 && of <= version;

/** Mean, 95th percentile by nearest rank, and maximum. */
export function summarise(ages: Ages): { readonly mean: number; readonly p95: number; readonly max: number } {
  const each = [...ages].sort(([a], [b]) => a - b);
  const tokens = each.reduce((sum, [, count]) => sum + count, 0);
  if (tokens === 0) return { mean: 0, p95: 0, max: 0 };
  const upTo = (age: number): number => each.reduce((sum, [other, count]) => sum + (other <= age ? count : 0), 0);
  return {
    mean: each.reduce((sum, [age, count]) => sum + age * count, 0) / tokens,
    p95: each.find(([age]) => upTo(age) >= 0.95 * tokens)?.[0] ?? 0,
    max: Math.max(...each.map(([age]) => age)),
  };
}

/** The staleness of an attempt relative to a version. */
export function accountOf(attempt: AttemptHistory, version: number): RefoldedAccount {
  const spans = turnsOf(attempt).flatMap(versionsBehind);
  const known = spans.filter((span) => isKnown(span.version, version)).map((span) => span.version);
  const tokens = spans.reduce((sum, span) => sum + span.tokens, 0);
  const unknown = spans.reduce((sum, span) => sum + (isKnown(span.version, version) ? 0 : span.tokens), 0);
  const { mean, p95, max } = summarise(agesOf(attempt, version));
  const ofTokens = { staleness_token_mean: mean, staleness_token_p95: p95, staleness_token_max: max, unknown_tokens: unknown };
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return { tokens, ...NOTHING, ...ofTokens };
  const total = version - first;
  const inFlight = Math.min(total, Math.max(0, last - first));
  return {
    tokens,
    version_first: first,
    version_last: last,
    staleness_total: total,
    staleness_in_flight: inFlight,
    staleness_in_queue: total - inFlight,
    staleness_worst: version - Math.min(...known),
    staleness_best: version - Math.max(...known),
    staleness_span: Math.max(...known) - Math.min(...known) + 1,
    ...ofTokens,
  };
}

const NOTHING = {
  version_first: -1,
  version_last: -1,
  staleness_total: 0,
  staleness_in_flight: 0,
  staleness_in_queue: 0,
  staleness_worst: 0,
  staleness_best: 0,
  staleness_span: 0,
};
