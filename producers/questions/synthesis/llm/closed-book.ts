// Closed-book answers of the checking model, each with a verdict from the same model. An answer that cannot be parsed counts as wrong. An
// answer that cannot be judged is marked as such, so that it does not make the question look hard.
import { createJudge } from '../../../judge/judge.ts';
import { normalizeAnswer } from '../../../../streams/reward/normalise.ts';
import type { DirectAnswer } from '../port.ts';
import { askFor, sampled, type NamedModel } from './ask-model.ts';
import { promptOf } from './prompts.ts';
import { goldsOf, type LlmDraft } from './state.ts';

const JUDGE_TRIES = 3;

export interface ClosedBook {
  readonly samples: number;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Sends all requests at once; the model client limits concurrency. */
export async function answerDirectly(
  model: NamedModel,
  draft: LlmDraft,
  { samples, random, signal }: ClosedBook,
): Promise<readonly DirectAnswer[]> {
  const golds = goldsOf(draft);
  const known = new Set(golds.map(normalizeAnswer));
  const judge = createJudge({ ...model, tries: JUDGE_TRIES });
  const prompt = promptOf('closedBook', { question: draft.question });
  const decodings = Array.from({ length: samples }, () => sampled(random));
  return Promise.all(
    decodings.map(async (decoding) => {
      const reply = await askFor(model, ['answer'], { prompt, decoding, signal });
      const answer = reply.ok ? reply.said.answer : '';
      if (known.has(normalizeAnswer(answer))) return { answer, right: true };
      const { verdict, reason } = await judge.judge({ question: draft.question, golds, answer }, signal);
      const invalid = verdict === 'invalid' ? { unjudged: `"${answer.slice(0, 100)}" could not be judged: "${reason.slice(0, 200)}"` } : {};
      return { answer, right: verdict === 'correct', ...invalid };
    }),
  );
}
