// questions -> questions, accepted and rejected alike
import type { QuestionAccepted, QuestionRejected } from '../../../schemas/generated/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import { isDrawn, reviewWordOf } from '../../../streams/questions/reviews.ts';
import type { Origin } from './cells.ts';
import { row, type ProjectionsOf } from './projection.ts';

const questionRow = (event: QuestionAccepted, verdict: { readonly accepted: boolean; readonly reason: string }): Row => ({
  question_id: event.question_id,
  dataset: event.dataset,
  split: event.split,
  accepted: verdict.accepted,
  reason: verdict.reason,
  run_id: event.run_id,
  question: event.question,
  answers: event.answers,
  aug_answers: event.aug_answers,
  hops: event.hops,
  kind: event.kind,
  evidence_urls: event.evidence.map((evidence) => evidence.url),
  evidence_titles: event.evidence.map((evidence) => evidence.title),
  evidence_facts: event.evidence.map((evidence) => evidence.fact),
  gates: event.gates.map((gate) => gate.gate),
  gates_passed: event.gates.map((gate) => gate.passed),
  gate_details: event.gates.map((gate) => gate.detail),
  history: JSON.stringify(event.history),
  closed_book_right: event.closed_book_right,
  closed_book_asked: event.closed_book_asked,
  drawn_for_review: isDrawn(event),
  review: reviewWordOf(event) ?? '',
  event_id: event.event_id,
  occurred_at: event.occurred_at,
  producer: event.producer,
});

const acceptedRow = (event: QuestionAccepted, origin: Origin): Row => ({
  ...questionRow(event, { accepted: true, reason: '' }),
  ...origin,
});

const rejectedRow = (event: QuestionRejected, origin: Origin): Row => ({
  ...questionRow(event, { accepted: false, reason: event.reason }),
  ...origin,
});

export const questionProjections = {
  QuestionAccepted: row('questions', acceptedRow),
  QuestionRejected: row('questions', rejectedRow),
} satisfies ProjectionsOf<'questions'>;
