// The log as a loop: `for await` over the batches of a topic, or over its events. Leaving the loop ends the read, and no batch
// is delivered before the one before it is done with.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { EventRead, EventReader, LogBatch, LogReader, LogRecord } from './ports.ts';
import { deferred } from './waiting.ts';

/** Which part of a topic is read; all of it unless given. */
export type ReadRange = Omit<Parameters<LogReader['readToEnd']>[1], 'onBatch'>;

/** The run that a record names in its header; empty when it names none. */
export const runOf = ({ headers }: Pick<LogRecord, 'headers'>): string => headers['run-id']?.toString() ?? '';

/** Whether a record is of this run, by its header alone: others need not be decoded. */
export function ofRun(runId: string): (record: Pick<LogRecord, 'headers'>) => boolean {
  const bytes = Buffer.from(runId);
  return ({ headers }) => headers['run-id']?.equals(bytes) === true;
}

/** The batches up to where the topic ended when the loop began, as LogReader.readToEnd has them. */
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
  /** Decided before a record is decoded; all unless given. */
  readonly wants?: (record: LogRecord) => boolean;
}

/** The events of a topic; one that cannot be read is among them, and says why. */
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

/** The events of one run, in the order of each partition. */
export function runEvents(
  source: RunSource,
  topic: EventTopic,
  { wants, ...range }: WantedEvents = {},
): AsyncGenerator<EventRead, void, undefined> {
  const isOwn = ofRun(source.runId);
  return eventsOf(source, topic, { ...range, wants: wants === undefined ? isOwn : (record) => isOwn(record) && wants(record) });
}
