// Reads evaluations from the log.
import type { AnswerScored, EvaluationCompleted, EvaluationStarted } from '../../../../schemas/generated/events.ts';
import { PlatformError } from '../../../../streams/core/errors.ts';
import type { LogRecord } from '../../../../streams/core/ports.ts';
import { eventsOf } from '../../../../streams/core/read-log.ts';
import type { LogConnection } from '../../open/connections.ts';

export interface RecordedEvaluation {
  readonly started: EvaluationStarted | EvaluationCompleted;
  readonly complete: boolean;
  /** Each answer once. */
  readonly answers: readonly AnswerScored[];
}

/** In the order of the ids. Throws NOT_FOUND for an id that is not in the log. */
export async function readEvaluations({ kafka, events }: LogConnection, ids: readonly string[]): Promise<readonly RecordedEvaluation[]> {
  const wanted = new Set(ids);
  const heads = new Map<string, { started: EvaluationStarted | EvaluationCompleted; complete: boolean }>();
  const answers = new Map(ids.map((id) => [id, new Map<string, AnswerScored>()]));
  const wants = ({ key }: LogRecord): boolean => wanted.has(key?.toString() ?? '');
  for await (const read of eventsOf({ log: kafka.reader(), events }, 'evaluations', { wants })) {
    if (!read.ok) continue;
    const { type, event } = read.value;
    if (type === 'EvaluationStarted')
      heads.set(event.evaluation_id, { complete: false, ...heads.get(event.evaluation_id), started: event });
    if (type === 'EvaluationCompleted')
      heads.set(event.evaluation_id, { started: event, ...heads.get(event.evaluation_id), complete: true });
    if (type === 'AnswerScored') keepFirst(answers.get(event.evaluation_id), event);
  }
  return ids.map((id) => {
    const head = heads.get(id);
    if (head === undefined) {
      throw new PlatformError(
        'NOT_FOUND',
        `reading evaluation ${id}: the log has none of that name; \`turnstream sql -q "select evaluation_id from evaluations"\` lists them`,
      );
    }
    return { ...head, answers: [...(answers.get(id)?.values() ?? [])] };
  });
}

function keepFirst(known: Map<string, AnswerScored> | undefined, event: AnswerScored): void {
  if (known !== undefined && !known.has(event.trajectory_id)) known.set(event.trajectory_id, event);
}
