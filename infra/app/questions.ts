// Question sets on the log: reading one, and making sure that a built-in one is there.
import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import type { EventReader, EventWriter, LogReader, OutgoingEvent } from '../../streams/core/ports.ts';
import { PlatformError } from '../../streams/core/errors.ts';

export interface QuestionSource {
  readonly log: LogReader;
  readonly events: EventReader;
}

const APPEND = 500;

interface QuestionSet {
  /** In the order of the log; a question that was written again counts once. */
  readonly accepted: readonly QuestionAccepted[];
  readonly rejected: number;
}

async function readSet(source: QuestionSource, dataset: string): Promise<QuestionSet> {
  const found = new Map<string, QuestionAccepted>();
  let rejected = 0;
  await source.log.readToEnd('questions', {
    onBatch: async ({ records }) => {
      for (const record of records) {
        const read = await source.events.read(record);
        if (!read.ok) continue;
        const { type, event } = read.value;
        if (type === 'QuestionAccepted' && event.dataset === dataset && !found.has(event.question_id)) found.set(event.question_id, event);
        if (type === 'QuestionRejected' && event.dataset === dataset) rejected += 1;
      }
    },
  });
  return { accepted: [...found.values()], rejected };
}

/** The accepted questions of a set. */
export const readQuestions = async (source: QuestionSource, dataset: string): Promise<readonly QuestionAccepted[]> =>
  (await readSet(source, dataset)).accepted;

/**
 * Writes a built-in set when the log does not have all of it; answers how many questions the set has. The rejected
 * candidates are written last, so that one of them says that the accepted ones are all there.
 */
export async function ensureQuestions(source: QuestionSource, writer: () => Promise<EventWriter>, dataset: string): Promise<number> {
  const { accepted, rejected } = await readSet(source, dataset);
  if (accepted.length > 0 && rejected > 0) return accepted.length;
  const { writeBuiltIn } = await import('./built-in-questions.ts');
  const written = await writeBuiltIn(dataset, { occurredAt: Date.now() * 1000, producer: 'questions' });
  if (written === undefined) {
    if (accepted.length > 0) return accepted.length;
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
  return written.accepted.length;
}

/** Appends in portions of one request each. */
export async function appendAll(writer: EventWriter, events: readonly OutgoingEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += APPEND) await writer.append(events.slice(at, at + APPEND));
}
