// A question set as its events make it: what gates accepted, without what humans rejected. The last verdict of a human
// counts, whatever is written of the question by others before or after; a comment decides nothing; a question that is
// written again counts once, as it was written last. Candidates that gates refused are no part of it.
import type { QuestionAccepted, QuestionRejected } from '../../schemas/generated/events.ts';
import { reviewWordOf } from './reviews.ts';

export type QuestionEvent =
  | { readonly type: 'QuestionAccepted'; readonly event: QuestionAccepted }
  | { readonly type: 'QuestionRejected'; readonly event: QuestionRejected };

/** `T` is what is kept of a question. */
export interface QuestionSet<T> {
  /** Events of one question come in the order of the log. */
  fold(said: QuestionEvent): void;
  /** Every question that gates accepted, those that humans rejected among them, in the order in which they came first. */
  all(): readonly T[];
  /** Those that are trained and evaluated on. */
  current(): readonly T[];
  isRejected(questionId: string): boolean;
  /** Candidates that gates refused. */
  refused(): number;
}

/** An empty set; events of other datasets change nothing. `keep` says what is kept of a question. */
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
