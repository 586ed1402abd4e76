// Imports questions that others wrote: one JSON object per line, {"question", "answer", "aug_answer"?, "id"?}. Guarantee: by default
// nothing is imported unless every line is good, so the input is read twice; memory holds the ids and one batch, never the file. After a
// crash in the second pass, importing again completes the import: ids are stable.
import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { parseQuestionLine } from './question-line.ts';
import type { QuestionLine } from './question-line.ts';
import { readLines } from './read-lines.ts';
import { questionIdOf } from './question-id.ts';
import { unasked } from './unasked.ts';

interface LineProblem {
  /** 1-based. */
  readonly line: number;
  readonly problem: string;
}

export interface ImportOptions {
  readonly dataset: string;
  readonly split: 'train' | 'heldout';
  /** UTC microseconds; used in every event. */
  readonly occurredAt: number;
  readonly producer: string;
  /** Skips bad lines instead of rejecting the file. */
  readonly skipBadLines?: boolean;
  /** Receives the questions in order, in batches; reading waits for it. */
  readonly accept: (questions: readonly QuestionAccepted[]) => Promise<void>;
}

export interface ImportReport {
  readonly imported: number;
  /** The first 1,000 bad lines. */
  readonly problems: readonly LineProblem[];
  readonly bad: number;
}

const BATCH = 500;
const MAX_PROBLEMS = 1_000;

/** Opens the input; called once per pass. */
export type OpenInput = () => AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

function toEvent({ question, answers, augAnswers, id }: QuestionLine, options: ImportOptions): QuestionAccepted {
  const { dataset, split, occurredAt, producer } = options;
  const questionId = id ?? questionIdOf(dataset, question);
  return {
    event_id: `questions/${dataset}/${questionId}`,
    run_id: '',
    occurred_at: occurredAt,
    producer,
    question_id: questionId,
    dataset,
    split,
    question,
    answers,
    aug_answers: augAnswers,
    hops: 0,
    kind: 'imported',
    evidence: [],
    gates: [],
    history: [],
    ...unasked,
  };
}

type CheckedLine = { readonly line: number } & (
  { readonly ok: true; readonly event: QuestionAccepted } | { readonly ok: false; readonly problem: string }
);

async function* judged(open: OpenInput, options: ImportOptions): AsyncGenerator<CheckedLine> {
  const lineOf = new Map<string, number>();
  for await (const { line, text } of readLines(open())) {
    if (text.ok && text.value.trim() === '') continue;
    const parsed = text.ok ? parseQuestionLine(text.value) : text;
    if (!parsed.ok) {
      yield { line, ok: false, problem: parsed.problem };
      continue;
    }
    const event = toEvent(parsed.value, options);
    const earlier = lineOf.get(event.question_id);
    lineOf.set(event.question_id, earlier ?? line);
    if (earlier === undefined) yield { line, ok: true, event };
    else yield { line, ok: false, problem: `the same question or id as line ${earlier}` };
  }
}

async function check(open: OpenInput, options: ImportOptions): Promise<{ problems: LineProblem[]; bad: number; good: number }> {
  const problems: LineProblem[] = [];
  let [bad, good] = [0, 0];
  for await (const one of judged(open, options)) {
    if (one.ok) good += 1;
    else {
      bad += 1;
      if (problems.length < MAX_PROBLEMS) problems.push({ line: one.line, problem: one.problem });
    }
  }
  return { problems, bad, good };
}

/** Imports questions. Throws QUESTIONS_INVALID with `context.problems` when a line is bad (unless skipped) or there is none. */
export async function importQuestions(open: OpenInput, options: ImportOptions): Promise<ImportReport> {
  const { problems, bad, good } = await check(open, options);
  if ((bad > 0 && options.skipBadLines !== true) || good === 0) {
    const shown = problems.slice(0, 20).map(({ line, problem }) => `line ${line}: ${problem}`);
    const more = bad > shown.length ? [`and ${bad - shown.length} more`] : [];
    const what = bad > 0 ? [...shown, ...more].join('; ') : 'there is no question in it';
    throw new PlatformError('QUESTIONS_INVALID', `importing questions into ${options.dataset}: nothing was imported: ${what}`, {
      context: { problems, bad },
    });
  }
  let batch: QuestionAccepted[] = [];
  let imported = 0;
  for await (const one of judged(open, options)) {
    if (!one.ok) continue;
    batch.push(one.event);
    if (batch.length < BATCH) continue;
    await options.accept(batch);
    imported += batch.length;
    batch = [];
  }
  if (batch.length > 0) await options.accept(batch);
  return { imported: imported + batch.length, problems, bad };
}
