// The agent's loop: the policy decides and a tool responds, until there is an answer or a limit is reached. Invariants: turns are passed to
// onTurn in order, each before the next begins; the gold answers never reach the policy; every ending has a status. All state is in memory:
// a crash loses the attempt, and the trainer requests the next one.
import type { TrajectoryFinished, TrajectoryRequested } from '../../../schemas/generated/events.ts';
import type { Action, Observation, PastTurn, Policy, PolicyTurn, Tool, ToolResult } from '../../../streams/core/agents.ts';
import { isPlatformError, messageOf } from '../../../streams/core/errors.ts';
import type { Clock } from '../../../streams/core/ports.ts';
import { REFUSED } from '../../../streams/trajectory/attempt.ts';
import { formatOk } from '../../../streams/reward/format.ts';
import { trajectoryReward } from '../../../streams/reward/score.ts';
import { kindsOf, type ToolKind } from '../../../streams/core/tools.ts';
import { callsInvalid, type AskedAs } from '../../../streams/reward/validity.ts';
import { callTool } from './call-tool.ts';
import { endsEpisode, plainEpisode, stepReward } from './episode.ts';
import type { Episode } from './episode.ts';
import { PromptChains } from './prompt-chains.ts';
import { turnOutcome } from './turn-outcome.ts';
import type { FinishedTurn, TurnOutcome } from './turn-outcome.ts';

/** The fields of a task that the agent needs. */
type AgentTask = Pick<
  TrajectoryRequested,
  'question' | 'answers' | 'aug_answers' | 'reward' | 'decoding' | 'policy_version' | 'max_turns' | 'max_tokens' | 'max_wall_ms'
> &
  // determines the date in prompts; without it they state none
  Partial<Pick<TrajectoryRequested, 'occurred_at'>>;

/** Reduces the history after each turn to what is kept and shown to the policy; by default, all of it is. */
export type Memory = (history: readonly PastTurn[]) => readonly PastTurn[];

export interface AgentOptions {
  readonly policy: Policy;
  readonly tools: readonly Tool[];
  readonly task: AgentTask;
  readonly clock: Clock;
  /** Uniform in [0, 1); the source of every random choice of the attempt. */
  readonly random: () => number;
  /** Ends the attempt as cancelled, after the running turn. */
  readonly signal: AbortSignal;
  /** Ends the attempt as cancelled, at once: it can no longer be used. */
  readonly useless?: AbortSignal;
  readonly toolTimeoutMs: number;
  /** What the prompt says about the question's validity, which determines the reward for calling it invalid; by default nothing. */
  readonly askedAs?: AskedAs;
  readonly memory?: Memory;
  /** By default, one answer ends the attempt, and turns have no step reward. */
  readonly episode?: Episode;
  /** Called with each turn as it ends; the next turn waits for it. */
  readonly onTurn: (outcome: TurnOutcome) => Promise<void> | void;
  /** Called when a prompt does not begin with the whole prompt and completion of an earlier turn. */
  readonly onPrefixBreak?: () => void;
}

type Status = 'answered' | 'max_turns' | 'max_tokens' | 'timeout' | 'cancelled' | 'failed' | 'refused';

/** The fields of TrajectoryFinished that say how the attempt went. */
export type AgentResult = Pick<
  TrajectoryFinished,
  | 'answer'
  | 'error'
  | 'reward'
  | 'f1'
  | 'em'
  | 'cem'
  | 'format_ok'
  | 'turns'
  | 'tool_calls'
  | 'tool_errors'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'version_first'
  | 'version_last'
  | 'started_at'
  | 'finished_at'
  | 'asked_as'
  | 'called_invalid'
> & { readonly status: Status };

interface AgentEnd {
  readonly status: Status;
  readonly error?: string;
}

/** The state of the loop. */
interface AgentProgress {
  history: readonly PastTurn[];
  turns: number;
  /** Tokens that count against the limit. */
  spent: number;
  /** The newest answer, and the number of consecutive turns up to now that gave one. */
  answer: string | undefined;
  answersInRow: number;
  /** By the system clock, for timestamps. */
  readonly startedMs: number;
  /** Monotonic, for durations. */
  readonly beganMs: number;
  readonly outcomes: { formatOk: boolean; toolCalls: number; toolErrors: number; promptTokens: number; completionTokens: number };
  readonly versions: number[];
  readonly prompts: PromptChains;
}

const appendOnly: Memory = (history) => history;

/** Share of the token limit or the time limit after which each turn may be the last. */
const NEARLY_OVER = 0.9;

function observe({ task, clock, askedAs }: AgentOptions, { history, turns, spent, beganMs }: AgentProgress): Observation {
  const nearlyOver = spent >= NEARLY_OVER * task.max_tokens || clock.monotonic() - beganMs >= NEARLY_OVER * task.max_wall_ms;
  return {
    ...{ question: task.question, turn: turns, maxTurns: task.max_turns, history },
    ...(task.occurred_at === undefined ? {} : { askedAt: task.occurred_at / 1_000 }),
    final: turns + 1 >= task.max_turns || nearlyOver,
    tokensLeft: Math.max(0, task.max_tokens - spent),
    ...(askedAs === undefined ? {} : { askedAs }),
  };
}

/** The decision; throws if the deadline passes first, and drops a late decision. */
async function decideInTime(options: AgentOptions, observation: Observation, deadline: AbortSignal): Promise<PolicyTurn> {
  const { policy, task, random } = options;
  const decoding = task.decoding === 'greedy' ? 'greedy' : 'sample';
  let stop = (): void => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    stop = () => {
      reject(new Error(`deciding turn ${observation.turn}: the time of the attempt is over`));
    };
  });
  deadline.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([late, policy.decide(observation, { decoding, random, version: task.policy_version, signal: deadline })]);
  } finally {
    deadline.removeEventListener('abort', stop);
  }
}

async function answerTool(action: Action | undefined, options: AgentOptions, signal: AbortSignal): Promise<ToolResult | undefined> {
  if (action === undefined || action.tool === 'answer') return undefined;
  return callTool(options.tools, action, { timeoutMs: options.toolTimeoutMs, signal });
}

function noteAnswer(progress: AgentProgress, action: Action | undefined): void {
  const given = action?.tool === 'answer' ? action.answer : undefined;
  progress.answer = given ?? progress.answer;
  progress.answersInRow = given === undefined ? 0 : progress.answersInRow + 1;
}

function remember(progress: AgentProgress, decided: PolicyTurn, { result, tools, memory = appendOnly }: Remembering): void {
  const { outcomes } = progress;
  const { action, text, withoutCall, calls, completionTokens: tokens } = decided;
  outcomes.formatOk &&= decided.formatOk ?? formatOk(decided.text, tools);
  outcomes.promptTokens += decided.promptTokens;
  outcomes.completionTokens += decided.completionTokens;
  if (result !== undefined) {
    outcomes.toolCalls += 1;
    if (result.status !== 'ok') outcomes.toolErrors += 1;
  }
  progress.versions.push(...decided.spans.map(({ version }) => version));
  const spent = decided.spentTokens ?? decided.promptTokens + tokens;
  // a turn in which nothing was generated leaves the count as it is
  if (spent > 0) progress.spent = spent;
  progress.turns += 1;
  noteAnswer(progress, action);
  const told = { ...(withoutCall === undefined ? {} : { withoutCall }), ...(calls === undefined ? {} : { calls }) };
  progress.history = memory([...progress.history, { action, result, text, tokens, ...told }]);
}

interface Remembering {
  readonly tools: readonly ToolKind[];
  readonly result: ToolResult | undefined;
  readonly memory: Memory | undefined;
}

async function oneTurn(options: AgentOptions, progress: AgentProgress, deadline: AbortSignal): Promise<AgentEnd | undefined> {
  const { task, clock, tools, memory, episode = plainEpisode } = options;
  const turn = progress.turns;
  const began = clock.monotonic();
  const decided = await decideInTime(options, observe(options, progress), deadline);
  const [called, calledAt] = [clock.monotonic(), clock.now()];
  const result = await answerTool(decided.action, options, deadline);
  remember(progress, decided, { result, memory, tools: kindsOf(tools) });
  const times = { generationMs: called - began, startedAt: calledAt * 1_000, latencyMs: clock.monotonic() - called };
  const prompt = placePrompt(options, progress, decided);
  await options.onTurn(turnOutcome({ turn, decided, result, ...times, reward: stepReward(episode, result), ...prompt }));
  if (endsEpisode(episode, progress.answersInRow)) return { status: 'answered' };
  return decided.outOfRoom === true || progress.spent >= task.max_tokens ? { status: 'max_tokens' } : undefined;
}

/** The prompt as a delta to earlier turns, if its tokens are known; `turns` already includes this one. */
function placePrompt(options: AgentOptions, { prompts, turns }: AgentProgress, decided: PolicyTurn): Pick<FinishedTurn, 'prompt'> {
  const { source, tokenIds = [] } = decided;
  if (source === undefined || source.promptIds.length === 0) return {};
  const prompt = prompts.place(turns - 1, source.promptIds, tokenIds);
  if (prompt.breaks) options.onPrefixBreak?.();
  return { prompt };
}

async function loop(options: AgentOptions, progress: AgentProgress, deadline: AbortSignal): Promise<AgentEnd> {
  const { task, signal, useless } = options;
  while (progress.turns < task.max_turns) {
    if (signal.aborted || useless?.aborted === true) return { status: 'cancelled' };
    if (deadline.aborted) return { status: 'timeout' };
    const ending = await oneTurn(options, progress, deadline);
    if (ending !== undefined) return ending;
  }
  return { status: 'max_turns' };
}

/**
 * Policies may throw when the deadline passes. Any other PlatformError ends the attempt as failed. A model that refuses permanently ends it
 * as refused, because it would refuse the next attempt as well.
 */
async function runToEnd(options: AgentOptions, progress: AgentProgress, deadline: AbortSignal): Promise<AgentEnd> {
  try {
    return await loop(options, progress, deadline);
  } catch (error) {
    if (options.useless?.aborted === true) return { status: 'cancelled', error: 'a newer version of the policy is out' };
    if (deadline.aborted) return { status: 'timeout', error: messageOf(error) };
    if (isPlatformError(error, 'MODEL_REFUSED')) return { status: REFUSED, error: messageOf(error) };
    if (isPlatformError(error)) return { status: 'failed', error: messageOf(error) };
    throw error;
  }
}

const WITHOUT_ANSWER: ReadonlySet<Status> = new Set<Status>(['failed', 'cancelled', REFUSED]);

/** An attempt that a limit ended keeps its last answer; one that failed, was cancelled, or was refused has none. */
const answerOf = (status: Status, { answer }: AgentProgress): string | undefined => (WITHOUT_ANSWER.has(status) ? undefined : answer);

type ScoreFields = 'answer' | 'reward' | 'f1' | 'em' | 'cem' | 'format_ok' | 'asked_as' | 'called_invalid';

/** The answer, its reward and scores, and whether it calls the question invalid. */
function scoresOf(answer: string | undefined, options: AgentOptions, formatOfAll: boolean): Pick<AgentResult, ScoreFields> {
  const { task, askedAs } = options;
  const {
    reward,
    f1,
    em,
    cem,
    formatOk: format_ok,
  } = trajectoryReward(
    { answer, formatOk: formatOfAll, ...(askedAs === undefined ? {} : { askedAs }) },
    { answers: task.answers, augAnswers: task.aug_answers, reward: task.reward === 'em' ? 'em' : 'f1' },
  );
  const called_invalid = askedAs !== undefined && answer !== undefined && callsInvalid(answer);
  return { ...{ answer: answer ?? '', reward, f1, em, cem, format_ok }, asked_as: askedAs ?? '', called_invalid };
}

/**
 * Runs one attempt at a task. The token limit applies to the policy's count: by default, the prompt and the completion of the latest turn.
 * Throws only for a bug in a policy or tool, or when onTurn throws.
 */
export async function runAgent(options: AgentOptions): Promise<AgentResult> {
  const { task, clock } = options;
  const progress: AgentProgress = {
    ...{ history: [], turns: 0, spent: 0, answer: undefined, answersInRow: 0, startedMs: clock.now(), beganMs: clock.monotonic() },
    outcomes: { formatOk: true, toolCalls: 0, toolErrors: 0, promptTokens: 0, completionTokens: 0 },
    versions: [],
    prompts: new PromptChains(),
  };
  const deadline = new AbortController();
  const timer = setTimeout(() => {
    deadline.abort();
  }, task.max_wall_ms);
  const stop = (): void => {
    deadline.abort();
  };
  options.useless?.addEventListener('abort', stop, { once: true });
  const { status, error = '' } = await runToEnd(options, progress, deadline.signal).finally(() => {
    clearTimeout(timer);
    options.useless?.removeEventListener('abort', stop);
  });
  const { outcomes, versions, turns, startedMs, beganMs } = progress;
  return {
    status,
    error,
    ...scoresOf(answerOf(status, progress), options, outcomes.formatOk),
    turns,
    tool_calls: outcomes.toolCalls,
    tool_errors: outcomes.toolErrors,
    prompt_tokens: outcomes.promptTokens,
    completion_tokens: outcomes.completionTokens,
    version_first: versions[0] ?? -1,
    version_last: versions.at(-1) ?? -1,
    started_at: startedMs * 1_000,
    // a system clock that was set meanwhile does not change the duration
    finished_at: Math.round((startedMs + clock.monotonic() - beganMs) * 1_000),
  };
}
