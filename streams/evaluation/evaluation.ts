// Folds the state of one evaluation from the log and decides what to do next. Identity, not arrival order, decides: a repeated event
// changes nothing, and the first attempt to finish counts. State is updated in place. Times are when the evaluator observed an event,
// supplied by the caller, so that worker clocks are never compared.
import type { AnswerScored, TrajectoryFinished, TrajectoryRequested, WorkerHeartbeat } from '../../schemas/generated/events.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import { trajectoryId } from '../core/ids.ts';
import { REFUSED } from '../trajectory/attempt.ts';

/** What to evaluate. */
export interface EvaluationPlan {
  readonly evaluationId: string;
  /** Question ids; the index of a question determines its group. */
  readonly questions: readonly string[];
  /** Number of answers per question. */
  readonly samples: number;
  /** Addressee of the tasks, which only the workers of this evaluation take; by default the workers of the run answer. */
  readonly addressee?: string;
}

interface AttemptState {
  readonly number: number;
  /** When the attempt last showed activity: its request, its events, or a heartbeat that lists it; ms. */
  lastSignMs: number;
  started: boolean;
  ending: TrajectoryFinished | undefined;
  /** Requested before the evaluation was last started or continued. */
  isEarlier: boolean;
}

/** One answer of the evaluation. */
export interface SampleState {
  readonly trajectoryId: string;
  readonly questionIndex: number;
  readonly sample: number;
  /** By number; the last is the newest request. */
  readonly attempts: Map<number, AttemptState>;
  /** First attempt that finished and counts. */
  winner: TrajectoryFinished | undefined;
  score: AnswerScored | undefined;
}

interface WorkerState {
  lastSeenMs: number;
  /** Since when every heartbeat has reported free capacity; undefined while the worker is full. */
  roomSinceMs: number | undefined;
}

export interface EvaluationState {
  readonly plan: EvaluationPlan;
  readonly samples: ReadonlyMap<string, SampleState>;
  readonly workers: Map<string, WorkerState>;
  scored: number;
}

/** Group of a question in an evaluation. */
export const evaluationGroupOf = (evaluationId: string, questionIndex: number): string => `${evaluationId}-q${questionIndex}`;

export function newEvaluation(plan: EvaluationPlan): EvaluationState {
  const samples = new Map<string, SampleState>();
  for (const questionIndex of plan.questions.keys()) {
    for (let sample = 0; sample < plan.samples; sample += 1) {
      const id = trajectoryId(evaluationGroupOf(plan.evaluationId, questionIndex), sample);
      samples.set(id, { trajectoryId: id, questionIndex, sample, attempts: new Map(), winner: undefined, score: undefined });
    }
  }
  return { plan, samples, workers: new Map(), scored: 0 };
}

const newAttempt = (number: number, atMs: number): AttemptState => ({
  ...{ number, lastSignMs: atMs, started: false, ending: undefined, isEarlier: false },
});

/** Records that an attempt was requested. */
export function noteRequested(state: EvaluationState, request: Pick<TrajectoryRequested, 'trajectory_id' | 'attempt'>, atMs: number): void {
  const sample = state.samples.get(request.trajectory_id);
  if (sample === undefined || sample.attempts.has(request.attempt)) return;
  sample.attempts.set(request.attempt, newAttempt(request.attempt, atMs));
}

/** Call when the evaluation starts or continues: earlier attempts may have failed because of an outage that is over. */
export function noteEarlier(state: EvaluationState): void {
  for (const { attempts } of state.samples.values()) for (const attempt of attempts.values()) attempt.isEarlier = true;
}

/** Records a score; the first one of a sample wins. */
export function noteScored(state: EvaluationState, score: AnswerScored): void {
  const sample = state.samples.get(score.trajectory_id);
  if (sample === undefined || sample.score !== undefined) return;
  sample.score = score;
  state.scored += 1;
}

/** Folds one record of `rollouts`. Records of other groups change nothing, except heartbeats. */
export function foldRollout(state: EvaluationState, { type, event }: DecodedEvent, atMs: number): void {
  switch (type) {
    case 'WorkerHeartbeat':
      noteHeartbeat(state, event, atMs);
      break;
    case 'TrajectoryStarted':
    case 'TurnRecorded':
    case 'TrajectoryFinished': {
      const found = noteSign(state, event.trajectory_id, { number: event.attempt, atMs });
      if (found === undefined) return;
      found.attempt.started = true;
      if (type === 'TrajectoryFinished') noteEnding(found.sample, found.attempt, event);
      break;
    }
    default:
  }
}

function noteHeartbeat(state: EvaluationState, event: WorkerHeartbeat, atMs: number): void {
  for (const { trajectory_id: id, attempt } of event.running) noteSign(state, id, { number: attempt, atMs });
  // whether other workers are busy says nothing about the tasks of this evaluation
  if (event.addressee !== (state.plan.addressee ?? '')) return;
  const worker = state.workers.get(event.worker_id) ?? { lastSeenMs: atMs, roomSinceMs: undefined };
  worker.lastSeenMs = atMs;
  worker.roomSinceMs = event.running.length < event.capacity ? (worker.roomSinceMs ?? atMs) : undefined;
  state.workers.set(event.worker_id, worker);
}

function noteSign(state: EvaluationState, id: string, sign: { readonly number: number; readonly atMs: number }) {
  const sample = state.samples.get(id);
  if (sample === undefined) return undefined;
  // Seen before its request, which is in another topic.
  const attempt = sample.attempts.get(sign.number) ?? newAttempt(sign.number, sign.atMs);
  sample.attempts.set(sign.number, attempt);
  attempt.lastSignMs = Math.max(attempt.lastSignMs, sign.atMs);
  return { sample, attempt };
}

const COUNTING: ReadonlySet<string> = new Set(['answered', 'max_turns', 'max_tokens', 'timeout']);

function noteEnding(sample: SampleState, attempt: AttemptState, ending: TrajectoryFinished): void {
  attempt.ending ??= ending;
  if (COUNTING.has(ending.status)) sample.winner ??= ending;
}

export interface PatienceOptions {
  /** How long an attempt may be silent before it is given up, ms. */
  readonly silenceMs: number;
  /** Maximum attempts per answer since the evaluation was last started or continued. */
  readonly maxAttempts: number;
}

/** What to do now for one sample. */
export type EvaluationStep =
  | { readonly kind: 'request'; readonly sample: SampleState; readonly attempt: number }
  /** `ending` is undefined when no attempt ended: the answer counts as 0. */
  | { readonly kind: 'score'; readonly sample: SampleState; readonly attempt: number; readonly ending: TrajectoryFinished | undefined };

/** All steps that are due. An attempt that only waits for free capacity is not requested again. */
export function nextSteps(state: EvaluationState, nowMs: number, options: PatienceOptions): readonly EvaluationStep[] {
  const idle = workersAreIdle(state, nowMs, options.silenceMs);
  const steps: EvaluationStep[] = [];
  for (const sample of state.samples.values()) {
    const step = sample.score === undefined ? stepOf(sample, { nowMs, idle, ...options }) : undefined;
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

/** True when there are live workers and each has had free capacity for all of `silenceMs`: a task that still waits then is lost. */
function workersAreIdle(state: EvaluationState, nowMs: number, silenceMs: number): boolean {
  const live = [...state.workers.values()].filter(({ lastSeenMs }) => nowMs - lastSeenMs <= silenceMs);
  return live.length > 0 && live.every(({ roomSinceMs }) => roomSinceMs !== undefined && nowMs - roomSinceMs > silenceMs);
}

interface DecisionInputs extends PatienceOptions {
  readonly nowMs: number;
  readonly idle: boolean;
}

function stepOf(sample: SampleState, situation: DecisionInputs): EvaluationStep | undefined {
  if (sample.winner !== undefined) return { kind: 'score', sample, attempt: sample.winner.attempt, ending: sample.winner };
  const newest = newestAttempt(sample);
  if (newest === undefined) return { kind: 'request', sample, attempt: 0 };
  if (!isLost(newest, situation)) return undefined;
  if (!isFinal(sample, newest, situation.maxAttempts)) return { kind: 'request', sample, attempt: newest.number + 1 };
  return { kind: 'score', sample, attempt: newest.number, ending: newest.ending };
}

/** True when no further attempt is requested. Neither earlier attempts (isEarlier) nor cancelled ones count as tries. */
function isFinal({ attempts }: SampleState, { isEarlier, ending }: AttemptState, maxAttempts: number): boolean {
  if (isEarlier) return false;
  const tries = [...attempts.values()].filter((one) => !one.isEarlier && one.ending?.status !== 'cancelled');
  return ending?.status === REFUSED || tries.length >= maxAttempts;
}

function newestAttempt(sample: SampleState): AttemptState | undefined {
  let newest: AttemptState | undefined;
  for (const attempt of sample.attempts.values()) if (newest === undefined || attempt.number > newest.number) newest = attempt;
  return newest;
}

/** True when the attempt has ended, or was silent for too long although it had started or all workers are idle. */
function isLost(attempt: AttemptState, { nowMs, idle, silenceMs }: DecisionInputs): boolean {
  if (attempt.ending !== undefined) return true;
  return nowMs - attempt.lastSignMs > silenceMs && (attempt.started || idle);
}

export const isComplete = (state: EvaluationState): boolean => state.scored === state.samples.size;
