// The prompt of `questions review` on an in-memory log: answers become events, and a returning reviewer continues.
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { QuestionAccepted } from '../../../schemas/generated/events.ts';
import { readReviews, reviewedBy, writeReview } from './question-review.ts';
import { REVIEW_GATE } from '../../../streams/questions/reviews.ts';
import { createEventReader } from '../../registry/event-reader.ts';
import { outgoing, randomEvent, seeded } from '../../testing/events.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { renderReview, runReviewPrompt } from './review-prompt.ts';

const DATASET = 'mine';

function question(id: string, drawn = true, dataset = DATASET): QuestionAccepted {
  return randomEvent('QuestionAccepted', seeded(1), {
    ...{ event_id: `questions/${dataset}/${id}`, question_id: id, dataset, question: `What is ${id}?`, answers: ['x', 'y'] },
    evidence: [{ url: 'u', title: 'Page', fact: `fact of ${id}` }],
    gates: [{ gate: 'timely', passed: true, detail: 'it stays' }],
    drawn_for_review: drawn,
    history: [{ round: 1, action: 'inject', before: 'b', after: 'a', detail: 'a step' }],
  });
}

async function logWith(...questions: readonly QuestionAccepted[]) {
  const log = new MemoryLog();
  await log.writer().append(questions.map((event) => outgoing('QuestionAccepted', event)));
  const source = { log: log.reader(), events: createEventReader(log.codec, { byId: async () => undefined }) };
  const reviews = () => readReviews(source, DATASET);
  let at = 1_000;
  /** Types these lines and returns the output. */
  async function sit(reviewer: string, ...lines: readonly string[]) {
    const output = new PassThrough();
    const input = new PassThrough();
    input.end(lines.map((line) => `${line}\n`).join(''));
    const waiting = (await reviews()).filter(({ drawn, verdict }) => drawn && verdict === undefined);
    const recorded = await runReviewPrompt({
      ...{ input, output, waiting },
      say: (reviewed, verdict, comment) => writeReview(log.writer(), reviewed, { verdict, comment, reviewer, at: (at += 1) }),
    });
    return { recorded, printed: String(output.read() ?? '') };
  }
  const events = () =>
    log.records('questions').map((record) => {
      const decoded = record.value === null ? undefined : log.codec.decode(record.value);
      if (decoded?.ok !== true) throw new Error('not an event');
      return decoded.value;
    });
  return { log, reviews, sit, events };
}

const verdicts = (all: Awaited<ReturnType<typeof readReviews>>) =>
  all.filter(({ drawn }) => drawn).map(({ question: { question_id }, verdict }) => [question_id, verdict]);

describe('the prompt of questions review', () => {
  it('accepts, rejects and comments; each is an event with who, what and why', async () => {
    const { reviews, sit, events } = await logWith(question('q1'), question('q2'), question('q3', false), question('q4', true, 'other'));
    const { recorded, printed } = await sit('ada', 'c  reads oddly ', 'a', 'r no such river');
    expect(recorded).toBe(3);
    expect(printed).toContain(
      '2 to go\nWhat is q1?\n  answer    x | y\n  fact      Page: fact of q1\n  inject    a step\n  gate      timely: it stays',
    );
    expect(printed).toContain('1 to go\nWhat is q2?');
    expect(printed).not.toMatch(/q3|q4/);
    const said = events().slice(4);
    expect(said.map(({ type, event }) => [type, 'gates' in event ? event.gates.at(-1) : undefined])).toEqual([
      ['QuestionAccepted', { gate: REVIEW_GATE, passed: true, detail: 'commented by ada: reads oddly' }],
      ['QuestionAccepted', { gate: REVIEW_GATE, passed: true, detail: 'accepted by ada' }],
      ['QuestionRejected', { gate: REVIEW_GATE, passed: false, detail: 'rejected by ada: no such river' }],
    ]);
    expect(said.at(-1)!.event).toMatchObject({ reason: REVIEW_GATE, question_id: 'q2', producer: 'questions review', occurred_at: 1_003 });
    expect(new Set(events().map(({ event }) => event.event_id)).size).toBe(7);
    expect(verdicts(await reviews())).toEqual([
      ['q1', 'accept'],
      ['q2', 'reject'],
    ]);
    expect((await reviews())[0]!.said).toEqual(['commented by ada: reads oddly', 'accepted by ada']);
  });

  it('can be left, and continued with the remaining questions and their earlier comments', async () => {
    const { reviews, sit } = await logWith(question('q1'), question('q2'), question('q3'));
    expect((await sit('ada', 'accept', 'c look again', 'q', 'r never read')).recorded).toBe(2);
    expect(verdicts(await reviews())).toEqual([
      ['q1', 'accept'],
      ['q2', undefined],
      ['q3', undefined],
    ]);
    const { recorded, printed } = await sit('ben', 's', 'reject');
    expect(recorded).toBe(1);
    expect(printed).not.toContain('What is q1?');
    expect(printed).toContain('  review    commented by ada: look again');
    expect(verdicts(await reviews()).slice(1)).toEqual([
      ['q2', undefined],
      ['q3', 'reject'],
    ]);
    // the end of the input counts as quitting
    expect(await sit('ben')).toMatchObject({ recorded: 0 });
    await sit('ben', 'a');
    const empty = await sit('ben', 'a', 'a');
    expect(empty.recorded).toBe(0);
    expect(empty.printed).not.toContain('to go');
  });

  it('shows its help for unknown input, and records nothing for it', async () => {
    const { sit, events } = await logWith(question('q1'));
    const { recorded, printed } = await sit('ada', 'maybe', 'c', 'accepted', 'exit');
    expect(recorded).toBe(0);
    expect(printed.match(/a \[why\] accepts/g)).toHaveLength(4);
    expect(events()).toHaveLength(1);
  });

  it('counts the last verdict, which a comment does not change', async () => {
    const { log, reviews } = await logWith(question('q1'));
    const note = (verdict: 'accept' | 'reject' | 'comment', at: number) => ({ verdict, comment: 'c', reviewer: 'ada', at });
    for (const [verdict, at, then] of [
      ['comment', 1, undefined],
      ['reject', 2, 'reject'],
      ['comment', 3, 'reject'],
      ['accept', 4, 'accept'],
    ] as const) {
      await writeReview(log.writer(), reviewedBy('q1', await reviews()), note(verdict, at));
      // writing it again, as after a crash, gives the same event
      await writeReview(log.writer(), reviewedBy('q1', await reviews()), note(verdict, at));
      expect((await reviews())[0]!.verdict).toBe(then);
    }
    expect((await reviews())[0]!.said).toHaveLength(4);
    expect(renderReview((await reviews())[0]!)).toContain('  review    rejected by ada: c');
    expect(() => reviewedBy('q2', [])).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }) as Error);
  });
});
