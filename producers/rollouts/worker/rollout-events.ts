// Builds the events of one attempt from what the agent did. Pure. Policies and tools are third-party code: numbers that an event cannot
// carry become the nearest valid value, so that a faulty policy spoils a number, never an attempt.
import { createHash } from 'node:crypto';
import type {
  Decision,
  GenerationTiming,
  ToolTiming,
  TrajectoryFinished,
  TrajectoryRequested,
  TrajectoryStarted,
  TurnRecorded,
} from '../../../schemas/generated/events.ts';
import { rolloutEventId } from '../../../streams/core/ids.ts';
import type { TurnOutcome } from '../agent/turn-outcome.ts';
import { fitFinished, fitTurn } from './fit-record.ts';
import { notJudged, type JudgeFields } from './judged-ending.ts';

const INT_MAX = 2 ** 31 - 1;

/** The nearest integer from 0 to 2^31 - 1. */
const count = (value: number): number => (value > 0 ? Math.min(Math.round(value), INT_MAX) : 0);
const finite = (value: number): number => (Number.isFinite(value) ? value : 0);
/** A version, or -1 for an invalid one. */
const versionOf = (value: number): number => (Number.isInteger(value) && value >= 0 && value <= INT_MAX ? value : -1);
const micros = (ms: number): number => Math.round(ms * 1_000);

/** Fields that all events of an attempt share. */
export interface AttemptIdentity {
  readonly task: TrajectoryRequested;
  readonly workerId: string;
}

/** An event's sequence number within its attempt, and its time. */
export interface EventPlace {
  readonly sequence: number;
  readonly atMs: number;
}

function common({ task, workerId }: AttemptIdentity, { sequence, atMs }: EventPlace) {
  return {
    event_id: rolloutEventId(task.trajectory_id, task.attempt, sequence),
    run_id: task.run_id,
    occurred_at: micros(atMs),
    producer: `worker/${workerId}`,
    group_id: task.group_id,
    trajectory_id: task.trajectory_id,
    attempt: task.attempt,
    worker_id: workerId,
    purpose: task.purpose,
    sequence,
    question_id: task.question_id,
  };
}

/** Sequence 0: the claim of a task. */
export function startedEvent(
  identity: AttemptIdentity,
  claim: { readonly partition: number; readonly offset: number },
  atMs: number,
): TrajectoryStarted {
  return { ...common(identity, { sequence: 0, atMs }), task_partition: claim.partition, task_offset: claim.offset };
}

/** The features are copied: the policy may reuse its memory before the event is encoded. */
function decisionOf(decision: Decision | null): Decision | null {
  if (decision === null) return null;
  return {
    features: Buffer.from(decision.features),
    candidates: count(decision.candidates),
    width: count(decision.width),
    chosen: count(decision.chosen),
    logprob: finite(decision.logprob),
    entropy: finite(decision.entropy),
  };
}

const timingOf = ({ queue_ms, retries, retry_ms, server_ms }: ToolTiming): ToolTiming => ({
  queue_ms: finite(queue_ms),
  retries: count(retries),
  retry_ms: finite(retry_ms),
  server_ms: finite(server_ms),
});

const STOP_CHARS = 200;

const generationOf = (timing: GenerationTiming | null): GenerationTiming | null =>
  timing === null
    ? null
    : { ...timingOf(timing), first_token_ms: finite(timing.first_token_ms), stop_text: timing.stop_text.slice(0, STOP_CHARS) };

/** One turn, at most 900 kB. */
export function turnEvent(identity: AttemptIdentity, outcome: TurnOutcome, place: EventPlace): TurnRecorded {
  return fitTurn({
    ...outcome,
    ...common(identity, place),
    policy_spans: outcome.policy_spans.map((span) => ({ version: versionOf(span.version), tokens: count(span.tokens) })),
    prompt_tokens: count(outcome.prompt_tokens),
    completion_tokens: count(outcome.completion_tokens),
    generation_ms: finite(outcome.generation_ms),
    latency_ms: finite(outcome.latency_ms),
    reward: finite(outcome.reward),
    call_id: outcome.call_id === '' ? '' : `${identity.task.trajectory_id}/${identity.task.attempt}/${outcome.call_id}`,
    cache_hit: outcome.cache_hit ? true : false,
    items: outcome.items.map(({ url, title }) => ({ url, title })),
    decision: decisionOf(outcome.decision),
    generation_timing: generationOf(outcome.generation_timing),
    tool_timing: outcome.tool_timing === null ? null : timingOf(outcome.tool_timing),
  });
}

/** Sums over the recorded turns of an attempt. */
export type AttemptTotals = Pick<
  TrajectoryFinished,
  'turns' | 'tool_calls' | 'tool_errors' | 'prompt_tokens' | 'completion_tokens' | 'version_first' | 'version_last'
>;

export const noTurns: AttemptTotals = {
  turns: 0,
  tool_calls: 0,
  tool_errors: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  version_first: -1,
  version_last: -1,
};

/** True for a turn that called a tool; giving the answer does not count. */
export const calledTool = (turn: TurnRecorded): boolean => turn.tool !== '' && turn.tool !== 'answer';

export function addTurn(totals: AttemptTotals, turn: TurnRecorded): AttemptTotals {
  const called = calledTool(turn);
  return {
    turns: totals.turns + 1,
    tool_calls: totals.tool_calls + (called ? 1 : 0),
    tool_errors: totals.tool_errors + (called && turn.status !== 'ok' ? 1 : 0),
    prompt_tokens: totals.prompt_tokens + turn.prompt_tokens,
    completion_tokens: totals.completion_tokens + turn.completion_tokens,
    version_first: totals.turns === 0 ? (turn.policy_spans[0]?.version ?? -1) : totals.version_first,
    version_last: turn.policy_spans.at(-1)?.version ?? -1,
  };
}

/** How an attempt ended, and its reward. */
export type AttemptResult = Pick<TrajectoryFinished, 'answer' | 'status' | 'error' | 'reward' | 'f1' | 'em' | 'cem' | 'format_ok'> &
  Partial<JudgeFields & Pick<TrajectoryFinished, 'asked_as' | 'called_invalid'>>;

/** An ending without reward: the worker, not the agent, ended the attempt. */
export const worthless = (status: 'cancelled' | 'failed' | 'timeout', error: string): AttemptResult => ({
  ...{ status, error, answer: '', reward: 0, f1: 0, em: 0, cem: 0, format_ok: false },
});

/** Empty values for an attempt without a judge. */
const judgeFields = (ending: AttemptResult): JudgeFields => (ending.judge === undefined ? notJudged : { ...notJudged, ...ending });

/** The last event of an attempt, at most 900 kB. Each field is named: adding thirty fields to a spread takes longer than encoding the event. */
export function finishedEvent(
  identity: AttemptIdentity,
  end: { readonly ending: AttemptResult; readonly totals: AttemptTotals; readonly startedAtMs: number; readonly finishedAtMs: number },
  place: EventPlace,
): TrajectoryFinished {
  const { ending, totals } = end;
  const shared = common(identity, place);
  const judged = judgeFields(ending);
  return fitFinished({
    event_id: shared.event_id,
    run_id: shared.run_id,
    occurred_at: shared.occurred_at,
    producer: shared.producer,
    group_id: shared.group_id,
    trajectory_id: shared.trajectory_id,
    attempt: shared.attempt,
    worker_id: shared.worker_id,
    purpose: shared.purpose,
    sequence: shared.sequence,
    question_id: shared.question_id,
    turns: totals.turns,
    tool_calls: totals.tool_calls,
    tool_errors: totals.tool_errors,
    prompt_tokens: totals.prompt_tokens,
    completion_tokens: totals.completion_tokens,
    version_first: totals.version_first,
    version_last: totals.version_last,
    question: identity.task.question,
    answer: ending.answer,
    status: ending.status,
    error: ending.error,
    reward: finite(ending.reward),
    f1: finite(ending.f1),
    em: finite(ending.em),
    cem: finite(ending.cem),
    format_ok: ending.format_ok,
    judge: judged.judge,
    verdict: judged.verdict,
    judge_reason: judged.judge_reason,
    judge_tries: count(judged.judge_tries),
    judge_ms: finite(judged.judge_ms),
    judge_served: judged.judge_served,
    judge_version: versionOf(judged.judge_version),
    judge_prompt_sha256: judged.judge_prompt_sha256,
    asked_as: ending.asked_as ?? '',
    called_invalid: ending.called_invalid ?? false,
    started_at: micros(end.startedAtMs),
    finished_at: micros(end.finishedAtMs),
  });
}

/** W3C traceparent of an attempt; the same attempt always has the same trace. */
export function traceparentOf(task: TrajectoryRequested): string {
  const digest = createHash('sha256').update(`${task.run_id}/${task.trajectory_id}/${task.attempt}`).digest('hex');
  return `00-${digest.slice(0, 32)}-${digest.slice(32, 48)}-01`;
}
