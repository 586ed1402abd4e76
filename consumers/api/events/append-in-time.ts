// Appends events for HTTP callers. The writer itself waits for Kafka for minutes, but a caller gets an error after seconds and can repeat
// the request, which is harmless. While an append is overdue, new ones are refused at once, so that few requests are held in memory.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { EventWriter, OutgoingEvent } from '../../../streams/core/ports.ts';

export interface AppendOptions {
  readonly writer: Pick<EventWriter, 'append'>;
  /** How long a caller waits, ms. */
  readonly patienceMs: number;
  /** Maximum number of concurrent appends. */
  readonly maxPending: number;
}

/** Resolves when the events are in the log. Throws KAFKA_UNAVAILABLE if that is unknown. */
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
    // the caller may no longer wait for it
    appended.catch(() => undefined);
    try {
      await Promise.race([appended, late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
