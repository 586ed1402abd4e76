// Names and events of an evaluation. Pure: the same evaluation always has the same ids, so requesting it again continues it or finds it
// complete.
import { createHash } from 'node:crypto';
import type {
  AnswerScored,
  EvaluationCompleted,
  EvaluationStarted,
  QuestionAccepted,
  TrajectoryFinished,
  TrajectoryRequested,
} from '../../schemas/generated/events.ts';
import { deriveSeed } from '../../streams/core/random.ts';
import { evaluationGroupOf, type SampleState } from '../../streams/evaluation/evaluation.ts';
import { summarize } from '../../streams/evaluation/scores.ts';
import { contentIdOf } from './content-id.ts';
import type { JudgeVerdict } from '../judge/judge.ts';
import { JUDGE_PROMPT_SHA256 } from '../../streams/reward/judge-prompt.ts';

export interface EvaluationQuestion extends Pick<QuestionAccepted, 'question_id' | 'question' | 'answers' | 'aug_answers'> {
  /** Level and id in the benchmark, for the record. */
  readonly level?: string;
  readonly task_id?: string;
  /** File that belongs to the question; the agent does not see it. */
  readonly attachment?: string;
}

/** Everything that determines what an evaluation measures. */
export interface EvaluationSubject {
  readonly runId: string;
  readonly dataset: string;
  readonly split: string;
  /** Pinned policy version; -1 = the newest at each turn. */
  readonly policyVersion: number;
  readonly questions: readonly EvaluationQuestion[];
  /** Answers per question. */
  readonly samples: number;
  readonly decoding: 'sample' | 'greedy';
  readonly reward: 'f1' | 'em';
  readonly maxTurns: number;
  readonly maxTokens: number;
  readonly maxWallMs: number;
  readonly seed: number;
  /** Model that judges the answers; by default none. */
  readonly judgeName?: string;
  /**
   * Details of the policy and the judge: settings, hashes of code and weights, addresses, and what servers report about themselves.
   */
  readonly answering?: Readonly<Record<string, unknown>>;
  /** True when a worker that takes no other tasks answers; by default, the workers of the run do. */
  readonly hasOwnWorker?: boolean;
  /** Number of this repeat of the evaluation; 0 = the first evaluation, not a repeat. */
  readonly repeat?: number;
  /** Rows of the file that are not asked; no effect on the identity. */
  readonly leftOut?: number;
  /** Requested maximum number of questions; the set may have fewer. No effect on the identity. */
  readonly mostQuestions?: number;
}

/** A readable slug plus a hash of everything else, including the content behind names. */
export function evaluationIdOf(subject: EvaluationSubject): string {
  const { runId, dataset, split, policyVersion, samples, decoding, repeat = 0 } = subject;
  const hash = createHash('sha256').update(textOf(subject)).digest('hex').slice(0, 8);
  const version = policyVersion < 0 ? 'newest' : String(policyVersion);
  const id = `${runId}-${dataset}-${split}-v${version}-${decoding}-n${samples}-${hash}`;
  return repeat === 0 ? id : `${id}-again${repeat}`;
}

function textOf(subject: EvaluationSubject): string {
  const { reward, maxTurns, maxTokens, maxWallMs, seed, judgeName, answering = {}, hasOwnWorker = false } = subject;
  const questions = subject.questions.map((question) => [question.question_id, contentIdOf(question)]);
  const judge = judgeName === undefined ? [] : [judgeName, JUDGE_PROMPT_SHA256];
  const limits = [reward, maxTurns, maxTokens, maxWallMs, seed];
  return canonical({ questions, limits, judge, answering, ...(hasOwnWorker ? { hasOwnWorker } : {}) });
}

/** What has to be equal for the scores of several versions to form one series. */
function protocolOf(subject: EvaluationSubject): Readonly<Record<string, unknown>> {
  const { questions, mostQuestions = questions.length, reward, maxTurns, maxTokens, maxWallMs, seed, answering } = subject;
  const limits = { max_turns: maxTurns, max_tokens: maxTokens, max_wall_ms: maxWallMs };
  return { questions: mostQuestions, reward, seed, ...limits, settings: commonSettings(answering?.['settings']) };
}

/** The settings of the policy. Addresses and hashes are left out, because only the settings that a run recorded include them. */
const commonSettings = (settings: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(settings ?? {}).filter(([name]) => !/(?:Url|_sha256)$/.test(name)));

/** JSON with sorted keys, so that equal content gives equal text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

/**
 * The addressee of the tasks: the evaluation if it has its own worker, so that no other worker takes them. Whether it has one is part of
 * its id, so all its tasks have the same addressee, also after a restart.
 */
export const addresseeOf = ({ hasOwnWorker = false }: EvaluationSubject, evaluationId: string): string =>
  hasOwnWorker ? evaluationId : '';

/** Fields that all events of an evaluation share. */
export interface EvaluationIdentity {
  readonly subject: EvaluationSubject;
  readonly evaluationId: string;
  readonly producer: string;
  readonly nowMs: number;
}

const common = ({ subject, producer, nowMs }: EvaluationIdentity, eventId: string) => ({
  event_id: eventId,
  run_id: subject.runId,
  occurred_at: nowMs * 1_000,
  producer,
});

export function startedEvent(identity: EvaluationIdentity): EvaluationStarted {
  const { subject, evaluationId } = identity;
  return {
    ...common(identity, `${evaluationId}/started`),
    evaluation_id: evaluationId,
    dataset: subject.dataset,
    split: subject.split,
    policy_version: subject.policyVersion,
    decoding: subject.decoding,
    questions: subject.questions.length,
    samples: subject.samples,
    repeat: subject.repeat ?? 0,
    subject: canonical({ ...subject.answering, protocol: protocolOf(subject) }),
    left_out: subject.leftOut ?? 0,
  };
}

/** One attempt at one answer. Seeds do not depend on the version, so that versions are compared on the same random draws. */
export function requestEvent(identity: EvaluationIdentity, sample: SampleState, attempt: number): TrajectoryRequested {
  const { subject, evaluationId } = identity;
  const question = questionOf(subject, sample);
  return {
    ...common(identity, `${sample.trajectoryId}/${attempt}/request`),
    group_id: evaluationGroupOf(evaluationId, sample.questionIndex),
    trajectory_id: sample.trajectoryId,
    attempt,
    sample: sample.sample,
    group_index: sample.questionIndex,
    group_size: subject.samples,
    purpose: 'eval',
    question_id: question.question_id,
    question: question.question,
    answers: question.answers,
    aug_answers: question.aug_answers,
    reward: subject.reward,
    decoding: subject.decoding,
    seed: deriveSeed(`${subject.seed}/${question.question_id}`, sample.sample),
    policy_version: subject.policyVersion,
    max_turns: subject.maxTurns,
    max_tokens: subject.maxTokens,
    max_wall_ms: subject.maxWallMs,
    admitted_version: subject.policyVersion,
    evaluation_id: evaluationId,
    addressee: addresseeOf(subject, evaluationId),
  };
}

/** The question of a sample. */
export function questionOf(subject: EvaluationSubject, sample: SampleState): EvaluationQuestion {
  const question = subject.questions[sample.questionIndex];
  if (question === undefined) throw new RangeError(`${sample.trajectoryId} does not belong to any question of this evaluation`);
  return question;
}

export interface ScoredOutcome {
  readonly attempt: number;
  readonly ending: TrajectoryFinished | undefined;
  /** Undefined without a judge. */
  readonly verdict?: JudgeVerdict | undefined;
}

/** The score of an answer; zeros and the status `lost` when no attempt ended. */
export function scoredEvent(identity: EvaluationIdentity, sample: SampleState, outcome: ScoredOutcome): AnswerScored {
  const { attempt, ending } = outcome;
  const base = {
    ...common(identity, `${sample.trajectoryId}/scored`),
    evaluation_id: identity.evaluationId,
    ...questionFields(questionOf(identity.subject, sample)),
    trajectory_id: sample.trajectoryId,
    sample: sample.sample,
    attempt,
    ...verdictFields(identity, outcome),
  };
  if (ending === undefined) {
    const spent = { turns: 0, tool_calls: 0, tokens: 0, prompt_tokens: 0, generated_tokens: 0 };
    return { ...base, answer: '', status: 'lost', reward: 0, f1: 0, em: 0, cem: 0, ...spent };
  }
  const { answer, status, reward, f1, em, cem, turns, tool_calls, prompt_tokens, completion_tokens: generated_tokens } = ending;
  const tokens = prompt_tokens + generated_tokens;
  return { ...base, answer, status, reward, f1, em, cem, turns, tool_calls, tokens, prompt_tokens, generated_tokens };
}

function questionFields(question: EvaluationQuestion) {
  const { question_id, level = '', task_id = '', attachment = '' } = question;
  return { question_id, content_id: contentIdOf(question), level, task_id, attachment };
}

function verdictFields({ subject }: EvaluationIdentity, { verdict }: ScoredOutcome) {
  if (verdict === undefined) return { judge: '', verdict: '', judge_reason: '', judge_tries: 0 };
  return { judge: subject.judgeName ?? '', verdict: verdict.verdict, judge_reason: verdict.reason, judge_tries: verdict.tries };
}

export function completedEvent(identity: EvaluationIdentity, scores: readonly AnswerScored[]): EvaluationCompleted {
  const { subject, evaluationId } = identity;
  return {
    ...common(identity, `${evaluationId}/completed`),
    evaluation_id: evaluationId,
    dataset: subject.dataset,
    split: subject.split,
    policy_version: subject.policyVersion,
    questions: subject.questions.length,
    samples: subject.samples,
    ...summarize(scores),
  };
}
