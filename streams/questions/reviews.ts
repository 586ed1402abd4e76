// Human reviews of questions. A verdict repeats the event of the question, accepted or rejected, with the gate human_review, which says who
// decided what and why. Its event id distinguishes it from the question's own event.
import type { QuestionAccepted, QuestionRejected } from '../../schemas/generated/events.ts';

export type ReviewWord = 'accept' | 'reject' | 'comment';

/** The gate name of a human verdict. */
export const REVIEW_GATE = 'human_review';

const review = /\/review\/[^/]+\/(accept|reject|comment)$/;

export const reviewEventId = (questionEventId: string, hash: string, word: ReviewWord): string =>
  `${questionEventId}/review/${hash}/${word}`;

/** The review verdict in an event; undefined for an event of the question itself. */
export function reviewWordOf({ event_id: id }: Pick<QuestionAccepted, 'event_id'>): ReviewWord | undefined {
  const [, word] = review.exec(id) ?? [];
  return word as ReviewWord | undefined;
}

/** True when the question was drawn for human review; events of earlier releases marked this with an undecided human_review gate. */
export const isDrawn = (event: QuestionAccepted | QuestionRejected): boolean =>
  event.drawn_for_review || (reviewWordOf(event) === undefined && event.gates.some(({ gate }) => gate === REVIEW_GATE));
