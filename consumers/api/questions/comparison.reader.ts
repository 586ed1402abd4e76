// Two evaluations, paired by question: is one better, and how sure is that?
import { compareEvaluations, type EvaluationComparison } from '../../../streams/evaluation/compare.ts';
import type { ScoredAnswers } from '../../../streams/evaluation/figures.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';

/** Maximum number of resampled questions per figure: this many take a fraction of a second. */
const MOST_DRAWN = 2_000_000;
const MOST_DRAWS = 2_000;
const LEAST_DRAWS = 200;
const CONFIDENCE = 0.95;
const SEED = 1;

/** Each answer once, though the log may hold it twice. */
const answersSql = `
  select question_id, content_id, sample, f1, em, cem, toString(verdict) as verdict, turns, tool_calls, prompt_tokens, generated_tokens, tokens
  from evaluation_scores where evaluation_id = {evaluation:String}
  order by question_id, sample, _partition, _offset limit 1 by question_id, sample`;

/** Throws EVALUATIONS_UNRELATED when they have no question in common. */
export async function readComparison(store: Store, a: string, b: string): Promise<EvaluationComparison> {
  const read = (evaluation: string): Promise<ScoredAnswers> => readRows<ScoredAnswers[number]>(store, answersSql, { evaluation });
  const [ofA, ofB] = await Promise.all([read(a), read(b)]);
  const drawn = Math.round(MOST_DRAWN / Math.max(1, ofA.length));
  const draws = Math.max(LEAST_DRAWS, Math.min(MOST_DRAWS, drawn));
  return compareEvaluations(ofA, ofB, { draws, confidence: CONFIDENCE, seed: SEED });
}
