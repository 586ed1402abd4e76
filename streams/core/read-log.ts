// Reads the log with `for await`, by batch or by event. Leaving the loop ends the read. A batch is delivered only after the loop is done
// with the previous one.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { EventRead, EventReader, LogBatch, LogReader, LogRecord } from './ports.ts';
import { deferred } from './waiting.ts';

/** The part of a topic to read; by default all of it. */
export type ReadRange = Omit<Parameters<LogReader['readToEnd']>[1], 'onBatch'>;

/** The run id in the header of a record; empty when it has none. */
export const runOf = ({ headers }: Pick<LogRecord, 'headers'>): string => headers['run-id']?.toString() ?? '';

/** Whether a record belongs to this run, by its header, so that other records need not be decoded. */
export function ofRun(runId: string): (record: Pick<LogRecord, 'headers'>) => boolean {
  const bytes = Buffer.from(runId);
  return ({ headers }) => headers['run-id']?.equals(bytes) === true;
}

/** The batches up to the end of the topic at the start of the loop, as delivered by LogReader.readToEnd. */
export async function* batchesOf(
  log: Pick<LogReader, 'readToEnd'>,
  topic: EventTopic,
  range: ReadRange = {},
): AsyncGenerator<LogBatch, void, undefined> {
  const leaving = new AbortController();
  const signal = range.signal === undefined ? leaving.signal : AbortSignal.any([range.signal, leaving.signal]);
  let next = deferred<LogBatch | undefined>();
  let done = deferred();
  const onBatch = (batch: LogBatch): Promise<void> => {
    done = deferred();
    next.resolve(batch);
    return done.promise;
  };
  const reading = log.readToEnd(topic, { ...range, signal, onBatch }).then(
    () => {
      next.resolve(undefined);
    },
    (error: unknown) => {
      next.reject(error);
    },
  );
  try {
    for (let batch = await next.promise; batch !== undefined; batch = await next.promise) {
      yield batch;
      next = deferred();
      done.resolve();
    }
  } finally {
    leaving.abort();
    done.resolve();
    await reading;
  }
}

export interface EventSource {
  readonly log: Pick<LogReader, 'readToEnd'>;
  readonly events: EventReader;
}

export interface RunSource extends EventSource {
  readonly runId: string;
}

export interface WantedEvents extends ReadRange {
  /** Filters records before they are decoded; by default all are read. */
  readonly wants?: (record: LogRecord) => boolean;
}

/** The events of a topic; a record that cannot be decoded is included, with the reason. */
export async function* eventsOf(
  { log, events }: EventSource,
  topic: EventTopic,
  { wants, ...range }: WantedEvents = {},
): AsyncGenerator<EventRead, void, undefined> {
  for await (const { records } of batchesOf(log, topic, range)) {
    for (const record of records) {
      if (wants?.(record) === false) continue;
      const read = events.read(record);
      yield read instanceof Promise ? await read : read;
    }
  }
}

/** The events of one run, in log order within each partition. */
export function runEvents(
  source: RunSource,
  topic: EventTopic,
  { wants, ...range }: WantedEvents = {},
): AsyncGenerator<EventRead, void, undefined> {
  const isOwn = ofRun(source.runId);
  return eventsOf(source, topic, { ...range, wants: wants === undefined ? isOwn : (record) => isOwn(record) && wants(record) });
}
