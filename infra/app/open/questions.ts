// Question sets on the log: reads a set, and makes sure that a built-in one is complete.
import type { QuestionAccepted } from '../../../schemas/generated/events.ts';
import type { EventReader, EventWriter, LogReader, OutgoingEvent } from '../../../streams/core/ports.ts';
import { eventsOf } from '../../../streams/core/read-log.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { createQuestionSet, type QuestionSet } from '../../../streams/questions/question-set.ts';

export interface QuestionSource {
  readonly log: LogReader;
  readonly events: EventReader;
}

const APPEND = 500;

async function readSet<T>(
  { log, events }: QuestionSource,
  dataset: string,
  keep: (question: QuestionAccepted) => T,
): Promise<QuestionSet<T>> {
  const set = createQuestionSet(dataset, keep);
  for await (const read of eventsOf({ log, events }, 'questions')) {
    if (read.ok && (read.value.type === 'QuestionAccepted' || read.value.type === 'QuestionRejected')) set.fold(read.value);
  }
  return set;
}

/** The current questions of a set: accepted by the gates and not rejected by a human, each once. */
export const readQuestions = async (source: QuestionSource, dataset: string): Promise<readonly QuestionAccepted[]> =>
  (await readSet(source, dataset, (question) => question)).current();

/**
 * Writes a built-in set when the log does not have all of it; returns the split of each of its questions. Rejected candidates are written
 * last, so that finding one of them means that all accepted ones are there.
 */
export async function ensureQuestions(
  source: QuestionSource,
  writer: () => Promise<EventWriter>,
  dataset: string,
): Promise<readonly QuestionAccepted['split'][]> {
  const set = await readSet(source, dataset, ({ split }) => split);
  if (set.all().length > 0 && set.refused() > 0) return set.current();
  const { writeBuiltIn } = await import('./built-in-questions.ts');
  const written = await writeBuiltIn(dataset, { occurredAt: Date.now() * 1000, producer: 'questions' });
  if (written === undefined) {
    if (set.all().length > 0) return set.current();
    throw new PlatformError(
      'NOT_FOUND',
      `reading question set ${dataset}: the log has none of it; import it with \`turnstream questions import --dataset ${dataset} <file>\``,
    );
  }
  const open = await writer();
  try {
    await appendAll(open, [
      ...written.accepted.map((event) => ({ type: 'QuestionAccepted', key: event.question_id, event }) as const),
      ...written.rejected.map((event) => ({ type: 'QuestionRejected', key: event.question_id, event }) as const),
    ]);
  } finally {
    await open.close();
  }
  return written.accepted.map(({ split }) => split);
}

export const noQuestionsOf = (dataset: string, split: string): PlatformError =>
  new PlatformError(
    'NOT_FOUND',
    `evaluating: set ${dataset} has no ${split} questions; import some with \`turnstream questions import --dataset ${dataset} --split ${split} <file>\`, or start with --no-eval`,
  );

/** Appends events in batches of one request each. */
export async function appendAll(writer: EventWriter, events: readonly OutgoingEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += APPEND) await writer.append(events.slice(at, at + APPEND));
}
