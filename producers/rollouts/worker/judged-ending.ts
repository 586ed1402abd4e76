// Makes a judge's verdict part of the reward. The verdict is requested once, before the end of an attempt is recorded, and recorded with
// it: a replay of the log has verdict and reward without asking anyone. Guarantee: an attempt that needs a verdict and gets none ends with
// the reason and a status that does not count, so a missing verdict is never trained on as a reward of 0.
import type { TrajectoryFinished, TrajectoryRequested } from '../../../schemas/generated/events.ts';
import { isPlatformError, messageOf } from '../../../streams/core/errors.ts';
import type { Clock } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import { JUDGE_PROMPT_SHA256 } from '../../../streams/reward/judge-prompt.ts';
import { judgedScore } from '../../../streams/reward/judged-score.ts';
import { REFUSED } from '../../../streams/trajectory/attempt.ts';
import type { Judge, JudgeVerdict } from '../../judge/judge.ts';

export interface RewardJudge {
  readonly judge: Judge;
  /** Share of the verdict in the score, greater than 0 and at most 1. */
  readonly share: number;
}

/** The judge fields of an attempt's end event. */
export type JudgeFields = Pick<
  TrajectoryFinished,
  'judge' | 'verdict' | 'judge_reason' | 'judge_tries' | 'judge_ms' | 'judge_served' | 'judge_version' | 'judge_prompt_sha256'
>;

export const notJudged: JudgeFields = {
  ...{ judge: '', verdict: '', judge_reason: '', judge_tries: 0, judge_ms: 0 },
  ...{ judge_served: '', judge_version: -1, judge_prompt_sha256: '' },
};

type Scored = Pick<TrajectoryFinished, 'answer' | 'status' | 'error' | 'reward' | 'format_ok'>;

export interface JudgingDeps {
  readonly by: RewardJudge;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Resolves when the attempt runs out of time or its worker stops, with how it ended. */
  readonly ended: Promise<Pick<Scored, 'status' | 'error'>>;
  /** Aborted when the attempt has become useless. */
  readonly useless?: AbortSignal;
}

/**
 * A verdict cannot change the reward of an attempt without an answer, with a broken format, or that called a valid question invalid, so
 * none is requested.
 */
export const needsVerdict = ({ answer, format_ok: formatOk, reward }: Scored, { purpose }: Pick<TrajectoryRequested, 'purpose'>): boolean =>
  purpose === 'train' && formatOk && reward >= 0 && answer.trim() !== '';

type JudgedTask = Pick<TrajectoryRequested, 'question' | 'answers'>;

/** The ending with the verdict included in its reward, and who gave it. Rejects only for a bug. */
export async function judgedEnding<T extends Scored>(ending: T, task: JudgedTask, deps: JudgingDeps): Promise<T & JudgeFields> {
  const { by, clock, metrics, ended, useless } = deps;
  const began = clock.monotonic();
  const over = new AbortController();
  const asking = asked(ending, task, { by, signal: over.signal });
  const stopped = whenStopped(ended, useless, over.signal).then(({ status, error }) => ({
    ...ending,
    ...notJudged,
    ...unjudged(status, `judging the answer with ${by.judge.name}: ${error}`),
  }));
  try {
    const judged = await Promise.race([asking, stopped]);
    const judge_ms = clock.monotonic() - began;
    metrics.count('worker_verdicts_total', { verdict: judged.verdict === '' ? 'none' : judged.verdict });
    metrics.observe('worker_judge_seconds', {}, judge_ms / 1_000);
    return { ...judged, ...namedAs(by.judge), judge_ms };
  } finally {
    over.abort();
    // Errors of an abandoned request do not matter.
    asking.catch(() => undefined);
  }
}

const namedAs = ({ name }: Judge) => ({ judge: name, judge_prompt_sha256: JUDGE_PROMPT_SHA256 });

async function whenStopped(
  ended: JudgingDeps['ended'],
  useless: AbortSignal | undefined,
  over: AbortSignal,
): Promise<Pick<Scored, 'status' | 'error'>> {
  const needless = new Promise<Pick<Scored, 'status' | 'error'>>((resolve) => {
    const give = (): void => {
      resolve({ status: 'cancelled', error: 'a newer version of the policy is out' });
    };
    if (useless?.aborted === true) give();
    useless?.addEventListener('abort', give, { once: true, signal: over });
  });
  const { status, error } = await Promise.race([ended, needless]);
  return status === 'cancelled' ? { status, error } : { status: 'failed', error: 'no verdict in the time of the attempt' };
}

async function asked<T extends Scored>(
  ending: T,
  { question, answers }: JudgedTask,
  { by, signal }: { readonly by: RewardJudge; readonly signal: AbortSignal },
): Promise<T & JudgeFields> {
  try {
    const verdict = await by.judge.judge({ question, golds: answers, answer: ending.answer }, signal);
    const given = { ...ending, ...notJudged, ...fieldsOf(verdict) };
    if (verdict.verdict === 'invalid') {
      return { ...given, ...unjudged('failed', `judging the answer with ${by.judge.name}: no verdict in ${verdict.tries} tries`) };
    }
    return { ...given, reward: judgedScore(ending.reward, { correct: verdict.verdict === 'correct', share: by.share }) };
  } catch (error) {
    if (!isPlatformError(error)) throw error;
    return { ...ending, ...notJudged, ...unjudged(isPlatformError(error, 'MODEL_REFUSED') ? REFUSED : 'failed', messageOf(error)) };
  }
}

const unjudged = (status: string, error: string) => ({ status, error, reward: 0 });

const fieldsOf = ({ verdict, reason, tries, by }: JudgeVerdict) => ({
  ...{ verdict, judge_reason: reason, judge_tries: tries },
  ...{ judge_served: by?.servedAs ?? '', judge_version: by?.version ?? -1 },
});
