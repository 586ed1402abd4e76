// A question set, folded from its events: what the gates accepted, minus what humans rejected. The last human verdict counts, whatever
// other events about the question precede or follow it; a comment decides nothing. A question that is written again counts once, in its
// latest form. Candidates that the gates refused are not in the set.
import type { QuestionAccepted, QuestionRejected } from '../../schemas/generated/events.ts';
import { reviewWordOf } from './reviews.ts';

export type QuestionEvent =
  | { readonly type: 'QuestionAccepted'; readonly event: QuestionAccepted }
  | { readonly type: 'QuestionRejected'; readonly event: QuestionRejected };

/** `T` is the part of a question that the set keeps. */
export interface QuestionSet<T> {
  /** Requires the events of one question in log order. */
  fold(said: QuestionEvent): void;
  /** Every question that the gates accepted, including those that humans rejected, in order of first appearance. */
  all(): readonly T[];
  /** The questions used for training and evaluation. */
  current(): readonly T[];
  isRejected(questionId: string): boolean;
  /** Number of candidates that the gates refused. */
  refused(): number;
}

/** An empty set that ignores events of other datasets. `keep` selects the part of a question to keep. */
export function createQuestionSet<T>(dataset: string, keep: (question: QuestionAccepted) => T): QuestionSet<T> {
  const accepted = new Map<string, T>();
  const rejected = new Set<string>();
  let refused = 0;
  return {
    fold({ type, event }) {
      if (event.dataset !== dataset) return;
      const word = reviewWordOf(event);
      if (word === 'reject') rejected.add(event.question_id);
      else if (word === 'accept') rejected.delete(event.question_id);
      else if (word === undefined && type === 'QuestionAccepted') accepted.set(event.question_id, keep(event));
      else if (word === undefined) refused += 1;
    },
    all: () => [...accepted.values()],
    current: () => [...accepted].filter(([id]) => !rejected.has(id)).map(([, question]) => question),
    isRejected: (questionId) => rejected.has(questionId),
    refused: () => refused,
  };
}
