import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { QuestionAccepted, QuestionRejected } from '../../../schemas/generated/events.ts';
import { checkQuestions } from '../check/check-questions.ts';
import { createFactbookWriter } from './factbook-writer.ts';
import type { SynthesisReport } from './report.ts';
import { synthesize } from './synthesize.ts';
import type { SynthesisOptions } from './synthesize.ts';

vi.setConfig({ testTimeout: 600_000 });

interface TestSynthesis {
  readonly report: SynthesisReport;
  readonly accepted: readonly QuestionAccepted[];
  readonly rejected: readonly QuestionRejected[];
}

async function make(more: Partial<SynthesisOptions> = {}): Promise<TestSynthesis> {
  const accepted: QuestionAccepted[] = [];
  const rejected: QuestionRejected[] = [];
  const report = await synthesize(createFactbookWriter(), {
    ...{
      injectRounds: 4,
      fuzzRounds: 2,
      tries: 6,
      directSamples: 8,
      maxDirectShare: 0.125,
      variants: 2,
      concurrency: 1,
      confirmSamples: 16,
    },
    ...{ dataset: 'synthetic', seed: 7, count: 24, reviewShare: 0.05, occurredAt: 5, producer: 'test', now: () => 0 },
    signal: new AbortController().signal,
    take(made) {
      accepted.push(...made.accepted);
      rejected.push(...made.rejected);
      return Promise.resolve();
    },
    ...more,
  });
  return { report, accepted, rejected };
}

const edits = (question: QuestionAccepted, action: string): number => question.history.filter((edit) => edit.action === action).length;
const checked = (questions: readonly QuestionAccepted[]) =>
  checkQuestions(questions.map(({ question_id: id, question, answers, hops }) => ({ id, question, answers, hops })));

let made: TestSynthesis;
beforeAll(async () => {
  made = await make();
}, 600_000);

describe('synthesized questions', () => {
  it('grew by injections and fuzzes, which their history records step by step', () => {
    expect(made.accepted.length).toBeGreaterThan(15);
    expect(made.report.injections.mean).toBeGreaterThanOrEqual(3);
    expect(made.report.fuzzes.mean).toBeGreaterThanOrEqual(1);
    for (const question of made.accepted) {
      expect(question.history[0]).toMatchObject({ round: 0, action: 'seed' });
      question.history.slice(1).forEach(({ before, after }, at) => {
        expect(before).toBe(question.history[at]!.after);
        expect(after).not.toBe(before);
      });
      expect(question.history.at(-1)!.after).toBe(question.question);
      expect(edits(question, 'inject')).toBeLessThanOrEqual(4);
      expect(edits(question, 'fuzz')).toBeLessThanOrEqual(2);
    }
  });
  it('pass checkQuestions, which counts the same lookups and clauses', () => {
    const { faults, lookups, clauses } = checked(made.accepted);
    expect(faults).toEqual([]);
    expect(lookups).toEqual(made.report.hops);
    expect(lookups.mean).toBeGreaterThanOrEqual(3);
    expect(clauses).toEqual(made.report.clauses);
  });
  it('passed every gate, and are as hard as the threshold requires', () => {
    for (const { gates, closed_book_right: right, closed_book_asked: asked } of made.accepted) {
      expect(asked).toBe(24);
      expect(right).toBeLessThanOrEqual(3);
      expect(gates.every(({ passed }) => passed)).toBe(true);
      expect(gates.map(({ gate }) => gate)).toEqual([
        ...['well_formed', 'timely', 'new_information', 'every_clause_needed', 'unique_answer', 'split_disjoint'],
        ...['difficulty', 'not_a_duplicate'],
      ]);
    }
  });
  it('share no country between training and held out', () => {
    const pages = (split: string) =>
      new Set(made.accepted.filter((one) => one.split === split).flatMap(({ evidence }) => evidence.map(({ url }) => url)));
    const training = pages('train');
    for (const url of pages('heldout')) expect(training.has(url)).toBe(false);
  });
});

describe('refused candidates', () => {
  it('say which gate refused them, and are counted there', () => {
    const byGate = new Map<string, number>();
    for (const { reason, gates } of made.rejected) {
      expect(gates.filter(({ passed }) => !passed).map(({ gate }) => gate)).toEqual([reason]);
      byGate.set(reason, (byGate.get(reason) ?? 0) + 1);
    }
    for (const { gate, refused } of made.report.gates) expect(byGate.get(gate) ?? 0).toBe(refused);
    for (const gate of [
      'well_formed',
      'timely',
      'new_information',
      'every_clause_needed',
      'unique_answer',
      'split_disjoint',
      'difficulty',
    ]) {
      expect(byGate.get(gate), gate).toBeGreaterThan(0);
    }
  });
  it('have distinct event ids', () => {
    const ids = [...made.accepted, ...made.rejected].map(({ event_id }) => event_id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a synthesis', () => {
  it('gives the same questions for the same seed, however many walks run at once, and others for another', async () => {
    const few = await make({ count: 3 });
    expect(await make({ count: 3, concurrency: 5 })).toEqual(few);
    const other = await make({ count: 3, seed: 8 });
    const questions = new Set(few.accepted.map(({ question }) => question));
    expect(other.accepted.filter(({ question }) => questions.has(question))).toEqual([]);
  }, 600_000);
  it('rejects every question with a correct closed-book answer when none is allowed', async () => {
    const { accepted } = await make({ count: 3, maxDirectShare: 0 });
    for (const { closed_book_right: right } of accepted) expect(right).toBe(0);
  }, 600_000);
  it('draws the configured share for review, and ends on an abort', async () => {
    const { report, accepted } = await make({ count: 4, reviewShare: 1 });
    expect(report.sampledForReview).toBe(accepted.length);
    expect((await make({ count: 4, reviewShare: 0 })).report.sampledForReview).toBe(0);
    expect((await make({ signal: AbortSignal.abort() })).report).toMatchObject({ seeds: 0, accepted: 0 });
  }, 600_000);
});
