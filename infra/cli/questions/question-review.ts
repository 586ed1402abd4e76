// Human review of questions. A human verdict is recorded as the same events that automatic gates write: QuestionAccepted or
// QuestionRejected, with the gate human_review, who decided, what and why. The last verdict counts; a rejected question is no longer
// used (streams/questions/question-set.ts).
import { createHash } from 'node:crypto';
import type { QuestionAccepted, QuestionRejected } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { EventReader, EventWriter, LogReader } from '../../../streams/core/ports.ts';
import { eventsOf } from '../../../streams/core/read-log.ts';
import { isDrawn, REVIEW_GATE, reviewEventId, reviewWordOf, type ReviewWord } from '../../../streams/questions/reviews.ts';

export interface ReviewedQuestion {
  readonly question: QuestionAccepted;
  /** True when the question was sampled for human review. */
  readonly drawn: boolean;
  /** Verdicts and comments so far, oldest first. */
  readonly said: readonly string[];
  /** Undefined until a verdict is given. */
  readonly verdict: 'accept' | 'reject' | undefined;
}

export interface ReviewSource {
  readonly log: LogReader;
  readonly events: EventReader;
}

type Reviews = Map<string, ReviewedQuestion>;

function note(reviews: Reviews, type: 'QuestionAccepted' | 'QuestionRejected', event: QuestionAccepted | QuestionRejected): void {
  const before = reviews.get(event.question_id);
  const word = reviewWordOf(event);
  if (word === undefined) {
    if (type !== 'QuestionAccepted') return;
    const drawn = before?.drawn === true || isDrawn(event);
    reviews.set(event.question_id, { ...(before ?? { said: [], verdict: undefined }), question: event, drawn });
  } else if (before !== undefined) {
    const { detail } = event.gates.find(({ gate }) => gate === REVIEW_GATE) ?? { detail: word };
    reviews.set(event.question_id, { ...before, said: [...before.said, detail], verdict: word === 'comment' ? before.verdict : word });
  }
}

/** The accepted questions of a set with their reviews, in log order. */
export async function readReviews({ log, events }: ReviewSource, dataset: string): Promise<readonly ReviewedQuestion[]> {
  const reviews: Reviews = new Map();
  const seen = new Set<string>();
  for await (const read of eventsOf({ log, events }, 'questions')) {
    if (!read.ok || (read.value.type !== 'QuestionAccepted' && read.value.type !== 'QuestionRejected')) continue;
    const { type, event } = read.value;
    if (event.dataset !== dataset || seen.has(event.event_id)) continue;
    seen.add(event.event_id);
    note(reviews, type, event);
  }
  return [...reviews.values()];
}

export interface ReviewNote {
  readonly verdict: ReviewWord;
  readonly comment: string;
  readonly reviewer: string;
  /** UTC microseconds. */
  readonly at: number;
}

const words = { accept: 'accepted', reject: 'rejected', comment: 'commented' } as const;

/** Writes a verdict or a comment. A comment does not change the verdict. */
export async function writeReview(writer: EventWriter, reviewed: ReviewedQuestion, note: ReviewNote): Promise<void> {
  const { question } = reviewed;
  const passed = note.verdict === 'comment' ? reviewed.verdict !== 'reject' : note.verdict === 'accept';
  const detail = `${words[note.verdict]} by ${note.reviewer}${note.comment === '' ? '' : `: ${note.comment}`}`;
  const hash = createHash('sha256').update(`${note.at}\n${detail}`).digest('hex').slice(0, 12);
  const event: QuestionAccepted = {
    ...question,
    event_id: reviewEventId(question.event_id, hash, note.verdict),
    occurred_at: note.at,
    producer: 'questions review',
    gates: [...question.gates.filter(({ gate }) => gate !== REVIEW_GATE), { gate: REVIEW_GATE, passed, detail }],
  };
  const key = question.question_id;
  if (passed) await writer.append([{ type: 'QuestionAccepted', key, event }]);
  else await writer.append([{ type: 'QuestionRejected', key, event: { ...event, reason: REVIEW_GATE } }]);
}

/** Finds one question of the set. Throws NOT_FOUND for an unknown id. */
export function reviewedBy(id: string, all: readonly ReviewedQuestion[]): ReviewedQuestion {
  const found = all.find(({ question }) => question.question_id === id);
  if (found !== undefined) return found;
  throw new PlatformError(
    'NOT_FOUND',
    `reviewing ${id}: the set has no accepted question of that id; see \`turnstream questions review --list\``,
  );
}
