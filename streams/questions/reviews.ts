// What humans say of questions. A verdict is the event of the question once more, accepted or rejected, with the gate
// human_review saying who decided what and why; its id tells it from the question's own event.
import type { QuestionAccepted, QuestionRejected } from '../../schemas/generated/events.ts';

export type ReviewWord = 'accept' | 'reject' | 'comment';

/** The gate that a human's verdict is. */
export const REVIEW_GATE = 'human_review';

const review = /\/review\/[^/]+\/(accept|reject|comment)$/;

export const reviewEventId = (questionEventId: string, hash: string, word: ReviewWord): string =>
  `${questionEventId}/review/${hash}/${word}`;

/** What a human said with an event; undefined for an event of the question itself. */
export function reviewWordOf({ event_id: id }: Pick<QuestionAccepted, 'event_id'>): ReviewWord | undefined {
  const [, word] = review.exec(id) ?? [];
  return word as ReviewWord | undefined;
}

/** True when the question is put before a human; events of earlier versions said so with a gate that nobody had decided. */
export const isDrawn = (event: QuestionAccepted | QuestionRejected): boolean =>
  event.drawn_for_review || (reviewWordOf(event) === undefined && event.gates.some(({ gate }) => gate === REVIEW_GATE));
