import fc from 'fast-check';
import { expect, it } from 'vitest';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import { createQuestionSet, type QuestionEvent } from './question-set.ts';
import { isDrawn, REVIEW_GATE, reviewEventId, reviewWordOf, type ReviewWord } from './reviews.ts';

const event = (
  type: QuestionEvent['type'],
  id: string,
  { event_id: eventId = `questions/d/${id}`, ...more }: Partial<QuestionAccepted> = {},
): QuestionEvent =>
  ({
    type,
    event: randomEvent(type, seeded(1), { dataset: 'd', question_id: id, event_id: eventId, drawn_for_review: false, ...more }),
  }) as QuestionEvent;

let at = 0;
/** A review event. `questions review` gives a comment the type of the previous verdict: pass it as `type`. */
const say = (id: string, word: ReviewWord, type: QuestionEvent['type'] = word === 'reject' ? 'QuestionRejected' : 'QuestionAccepted') =>
  event(type, id, { event_id: reviewEventId(`questions/d/${id}`, String((at += 1)), word) });

const foldAll = (events: readonly QuestionEvent[]) => {
  const set = createQuestionSet('d', ({ question_id: id }) => id);
  for (const one of events) set.fold(one);
  return set;
};
const ids = (events: readonly QuestionEvent[]): readonly string[] => foldAll(events).current();

it('leaves out what a human rejected, whatever gates and writers record afterwards', () => {
  const [a, b] = [event('QuestionAccepted', 'a'), event('QuestionAccepted', 'b')];
  expect(ids([a, b])).toEqual(['a', 'b']);
  expect(ids([a, b, say('a', 'reject')])).toEqual(['b']);
  expect(ids([a, b, say('a', 'reject'), a])).toEqual(['b']);
  expect(ids([a, b, say('a', 'reject'), say('a', 'accept')])).toEqual(['a', 'b']);
  expect(ids([a, b, say('a', 'reject'), say('a', 'comment', 'QuestionRejected')])).toEqual(['b']);
  expect(ids([a, b, say('a', 'reject'), say('a', 'comment', 'QuestionAccepted')])).toEqual(['b']);
  expect(ids([a, say('a', 'comment', 'QuestionRejected')])).toEqual(['a']);
});

it('keeps an accepted question that the gates refused in other events, counts the refusals, and ignores other datasets', () => {
  const refused = event('QuestionRejected', 'a', { event_id: 'questions/d/a/1-2-3' });
  const set = foldAll([refused, event('QuestionAccepted', 'a'), refused, event('QuestionAccepted', 'z', { dataset: 'other' })]);
  expect(set.current()).toEqual(['a']);
  expect(set.refused()).toBe(2);
  expect(set.all()).toHaveLength(1);
  expect(set.isRejected('a')).toBe(false);
});

it('follows the last verdict on each question, for any sequence', () => {
  const act = fc.record({
    id: fc.constantFrom('a', 'b', 'c'),
    what: fc.constantFrom<ReviewWord | 'accepted' | 'refused'>('accept', 'reject', 'comment', 'accepted', 'refused'),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
      const written = new Set<string>();
      const last = new Map<string, string>();
      const events = acts.map(({ id, what }): QuestionEvent => {
        if (what === 'accepted') written.add(id);
        if (what === 'accept' || what === 'reject') last.set(id, what);
        if (what === 'accepted') return event('QuestionAccepted', id);
        return what === 'refused' ? event('QuestionRejected', id, { event_id: `questions/d/${id}/0-1` }) : say(id, what);
      });
      expect([...ids(events)].sort()).toEqual([...written].filter((id) => last.get(id) !== 'reject').sort());
    }),
  );
});

it('distinguishes a question that was drawn for review from a human verdict', () => {
  const gates = [{ gate: REVIEW_GATE, passed: true, detail: 'drawn for a human to look at' }];
  expect(isDrawn(event('QuestionAccepted', 'a', { gates: [] }).event)).toBe(false);
  expect(isDrawn(event('QuestionAccepted', 'a', { gates: [], drawn_for_review: true }).event)).toBe(true);
  expect(isDrawn(event('QuestionAccepted', 'a', { gates }).event)).toBe(true);
  expect(isDrawn(event('QuestionAccepted', 'a', { event_id: reviewEventId('questions/d/a', '1', 'accept'), gates }).event)).toBe(false);
  expect(reviewWordOf(say('a', 'comment').event)).toBe('comment');
  expect(reviewWordOf({ event_id: 'questions/d/a' })).toBeUndefined();
});
