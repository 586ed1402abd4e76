import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import type { EventWriter } from '../../streams/core/ports.ts';
import { SYNTHETIC_DATASET } from '../../producers/load/load.ts';
import { unasked } from '../../producers/questions/unasked.ts';

/** Writes meaningless questions for a trainer to the dataset `synthetic`. */
export async function writeSyntheticQuestions(writer: EventWriter, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, index) => ({
    type: 'QuestionAccepted' as const,
    key: `${SYNTHETIC_DATASET}-${index}`,
    event: questionOf(index),
  }));
  await writer.append(events);
}

const questionOf = (index: number): QuestionAccepted => ({
  event_id: `${SYNTHETIC_DATASET}-${index}/question`,
  run_id: '',
  occurred_at: 1_700_000_000_000_000,
  producer: 'bench',
  question_id: `${SYNTHETIC_DATASET}-${index}`,
  dataset: SYNTHETIC_DATASET,
  split: 'train',
  question: `Synthetic question ${index} of a bench; it has no meaning.`,
  answers: [`synthetic answer ${index}`],
  aug_answers: [],
  hops: 1,
  kind: SYNTHETIC_DATASET,
  evidence: [],
  gates: [],
  history: [],
  ...unasked,
});
