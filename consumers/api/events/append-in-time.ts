// Appends for callers that wait for an answer. The writer itself waits for Kafka for minutes; a caller is told after seconds that it does
// not answer, and posts again, which is harmless. While an append is overdue, others are refused at once, so that what waits stays small.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { EventWriter, OutgoingEvent } from '../../../streams/core/ports.ts';

export interface AppendOptions {
  readonly writer: Pick<EventWriter, 'append'>;
  /** How long a caller waits, ms. */
  readonly patienceMs: number;
  /** Appends under way at most. */
  readonly maxPending: number;
}

/** Resolves when the events are in the log. Throws KAFKA_UNAVAILABLE, and then nobody knows whether they are. */
export function createAppendInTime({ writer, patienceMs, maxPending }: AppendOptions): (events: readonly OutgoingEvent[]) => Promise<void> {
  let [pending, overdue] = [0, 0];

  const unavailable = (why: string): PlatformError => new PlatformError('KAFKA_UNAVAILABLE', `appending events that were posted: ${why}`);

  return async function appendInTime(events) {
    if (overdue > 0) throw unavailable('Kafka has not acknowledged earlier ones');
    if (pending >= maxPending) throw unavailable(`${pending} appends are under way`);
    pending += 1;
    let isOverdue = false;
    const appended = writer.append(events).finally(() => {
      pending -= 1;
      if (isOverdue) overdue -= 1;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isOverdue = true;
        overdue += 1;
        reject(unavailable(`Kafka has not acknowledged them within ${patienceMs} ms`));
      }, patienceMs);
    });
    // the caller may be gone before it settles
    appended.catch(() => undefined);
    try {
      await Promise.race([appended, late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
