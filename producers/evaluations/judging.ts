// Tracks which answers of an evaluation are judged or about to be. The state is only in memory: after a restart, an answer whose verdict
// was not recorded is judged again.
import type { EvaluationStep } from '../../streams/evaluation/evaluation.ts';
import type { Judge, JudgeVerdict } from '../judge/judge.ts';
import type { JudgedAnswer } from '../../streams/reward/judge-prompt.ts';

export interface Judging {
  /** The verdict on a scoring step, if there is one; requests it otherwise. Always undefined without a judge. */
  verdictOn(step: EvaluationStep): JudgeVerdict | undefined;
  /** True when the step can be carried out now. */
  readyFor(step: EvaluationStep): boolean;
}

export interface JudgingOptions {
  readonly judge: Judge | undefined;
  readonly judgedOf: (step: EvaluationStep) => JudgedAnswer;
  readonly signal: AbortSignal;
  /** Called when there is a new verdict. */
  readonly onVerdict: () => void;
  readonly onFailure: (error: unknown) => void;
}

export function createJudging({ judge, judgedOf, signal, onVerdict, onFailure }: JudgingOptions): Judging {
  const verdicts = new Map<string, JudgeVerdict | 'asked'>();

  function ask(by: Judge, step: EvaluationStep): void {
    const id = step.sample.trajectoryId;
    verdicts.set(id, 'asked');
    by.judge(judgedOf(step), signal).then((verdict) => {
      verdicts.set(id, verdict);
      onVerdict();
    }, onFailure);
  }

  function verdictOn(step: EvaluationStep): JudgeVerdict | undefined {
    const known = verdicts.get(step.sample.trajectoryId);
    if (known === undefined && judge !== undefined && step.kind === 'score') ask(judge, step);
    return known === 'asked' ? undefined : known;
  }

  return { verdictOn, readyFor: (step) => judge === undefined || step.kind === 'request' || verdictOn(step) !== undefined };
}
