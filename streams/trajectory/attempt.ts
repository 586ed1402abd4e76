// The fold of one attempt. Identity, not arrival, decides: a sequence number seen before changes nothing, and the attempt is complete once
// its end and every sequence number before it have been seen, in any order. An attempt that ended with a gap, or whose end reports a token
// count that differs from that of its turns, is not usable. State is compact and changed in place, because this runs once per record: no
// text is kept, and decision bytes are copied out of the fetch buffer that they came in.
import type { Decision } from '../../schemas/generated/events.ts';
import { hasRewards, keepReward, withAttached, type AttachedRewards } from '../reward/attached.ts';
import type { FinishedView, RewardView, StartedView, TurnView } from './rollout-view.ts';
import type { VersionSpan } from '../staleness/staleness.ts';

/** What the learner needs of one turn. */
export interface KeptDecision {
  readonly sequence: number;
  readonly decision: Decision;
  readonly version: number;
  readonly reward: number;
}

/** What is kept of the end of an attempt. */
export interface AttemptOutcome {
  readonly sequence: number;
  readonly status: string;
  readonly reward: number;
  readonly f1: number;
  readonly em: number;
  readonly formatOk: boolean;
  readonly turns: number;
  readonly toolCalls: number;
  /** Completion tokens of the whole attempt, as the worker counted them. */
  readonly tokens: number;
  /** Microseconds, by the worker's clock. */
  readonly startedAt: number;
  readonly finishedAt: number;
}

export interface Attempt {
  readonly number: number;
  workerId: string;
  /** Every sequence number below it was seen. */
  contiguous: number;
  /** Sequence numbers seen after a gap. */
  ahead: Set<number> | undefined;
  tokens: number;
  /** Flat triples: sequence of the first turn, version, tokens. Consecutive turns of one version share a triple. */
  spans: number[];
  /** Sequence of the turn that `spans` ends with. */
  spansEnd: number;
  /** False once a gap was filled, so a record arrived after a later one. */
  ordered: boolean;
  decisions: KeptDecision[] | undefined;
  ending: AttemptOutcome | undefined;
  /** Attached rewards with the names that the run trains on. They may come before the end. */
  attached: AttachedRewards | undefined;
}

export const newAttempt = (number: number): Attempt => ({
  number,
  workerId: '',
  contiguous: 0,
  ahead: undefined,
  tokens: 0,
  spans: [],
  spansEnd: -1,
  ordered: true,
  decisions: undefined,
  ending: undefined,
  attached: undefined,
});

/** Notes a sequence number; false when it was seen before or is invalid. */
function notice(attempt: Attempt, sequence: number): boolean {
  if (sequence === attempt.contiguous) {
    attempt.contiguous += 1;
    if (attempt.ahead !== undefined) closeGap(attempt, attempt.ahead);
    return true;
  }
  if (sequence < attempt.contiguous || !Number.isSafeInteger(sequence)) return false;
  attempt.ahead ??= new Set();
  if (attempt.ahead.has(sequence)) return false;
  attempt.ahead.add(sequence);
  return true;
}

function closeGap(attempt: Attempt, ahead: Set<number>): void {
  attempt.ordered = false;
  while (ahead.delete(attempt.contiguous)) attempt.contiguous += 1;
  if (ahead.size === 0) attempt.ahead = undefined;
}

export function foldStarted(attempt: Attempt, event: StartedView): void {
  if (!notice(attempt, event.sequence)) return;
  attempt.workerId = event.worker_id;
}

export function foldTurn(attempt: Attempt, event: TurnView): void {
  if (!notice(attempt, event.sequence)) return;
  const tokens = Math.max(0, event.completion_tokens);
  attempt.tokens += tokens;
  let covered = 0;
  for (const span of event.policy_spans) {
    const counted = Math.max(0, Math.min(span.tokens, tokens - covered));
    covered += counted;
    addSpan(attempt, event.sequence, { version: span.version, tokens: counted });
  }
  if (covered < tokens || event.policy_spans.length === 0) addSpan(attempt, event.sequence, { version: -1, tokens: tokens - covered });
  if (event.decision !== null) keepDecision(attempt, event, event.decision);
}

function addSpan(attempt: Attempt, sequence: number, { version, tokens }: VersionSpan): void {
  const { spans, spansEnd } = attempt;
  const last = spans.length - 3;
  const follows = sequence === spansEnd || sequence === spansEnd + 1;
  if (last >= 0 && follows && spans[last + 1] === version) spans[last + 2] = (spans[last + 2] ?? 0) + tokens;
  else spans.push(sequence, version, tokens);
  attempt.spansEnd = sequence;
}

function keepDecision(attempt: Attempt, event: TurnView, decision: Decision): void {
  const version = event.policy_spans[0]?.version ?? -1;
  const copy = { ...decision, features: Buffer.from(decision.features) };
  (attempt.decisions ??= []).push({ sequence: event.sequence, decision: copy, version, reward: event.reward });
}

export function foldFinished(attempt: Attempt, event: FinishedView): void {
  if (attempt.ending !== undefined || !notice(attempt, event.sequence)) return;
  attempt.ending = {
    sequence: event.sequence,
    status: event.status,
    reward: event.reward,
    f1: event.f1,
    em: event.em,
    formatOk: event.format_ok,
    turns: event.turns,
    toolCalls: event.tool_calls,
    tokens: event.completion_tokens,
    startedAt: event.started_at,
    finishedAt: event.finished_at,
  };
}

/** Keeps an attached reward of one of these names. */
export function foldReward(attempt: Attempt, event: RewardView, names: readonly string[]): void {
  if (names.includes(event.name)) keepReward((attempt.attached ??= new Map<string, Map<string, number>>()), event);
}

/** The reward that is trained on; 0 for an attempt that has not ended. */
export const rewardOf = ({ ending, attached }: Attempt): number => (ending === undefined ? 0 : withAttached(ending.reward, attached));

/** True when the attempt has a reward of each of these names. */
export const isRewarded = ({ attached }: Attempt, names: readonly string[]): boolean => hasRewards(attached, names);

/** Status of an attempt that the model refused permanently: another attempt would be refused as well, so none is requested. */
export const REFUSED = 'refused';

const COUNTING = new Set(['answered', 'max_turns', 'max_tokens', 'timeout']);

/** usable: it ended with a status that counts, a finite reward, no gap, and the token count of its turns; unusable: it ended otherwise. */
export function statusOf(attempt: Attempt): 'running' | 'usable' | 'unusable' {
  const { ending } = attempt;
  if (ending === undefined) return 'running';
  const whole = attempt.ahead === undefined && attempt.contiguous === ending.sequence + 1 && attempt.tokens === ending.tokens;
  return whole && COUNTING.has(ending.status) && Number.isFinite(ending.reward) ? 'usable' : 'unusable';
}

/** Versions behind the tokens, in the order of the turns; consecutive spans differ in their version. */
export function spansOf(attempt: Attempt): readonly VersionSpan[] {
  const triples: (readonly [number, number, number])[] = [];
  for (let i = 0; i + 2 < attempt.spans.length; i += 3) {
    triples.push([attempt.spans[i] ?? 0, attempt.spans[i + 1] ?? -1, attempt.spans[i + 2] ?? 0]);
  }
  if (!attempt.ordered) triples.sort(([a], [b]) => a - b);
  const spans: { readonly version: number; tokens: number }[] = [];
  for (const [, version, tokens] of triples) {
    const before = spans.at(-1);
    if (before?.version === version) before.tokens += tokens;
    else spans.push({ version, tokens });
  }
  return spans;
}

/** Decisions in the order of the turns. */
export function decisionsOf(attempt: Attempt): readonly KeptDecision[] {
  const decisions = attempt.decisions ?? [];
  return attempt.ordered ? decisions : [...decisions].sort((a, b) => a.sequence - b.sequence);
}
