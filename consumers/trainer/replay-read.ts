// Reads of one run for a replay: events of a topic in the order of each partition, from given positions up to where
// the topic ended when the read began, or until there is enough.
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { EventReader, LogReader, LogRecord } from '../../streams/core/ports.ts';
import { ofRun } from './find-ledger.ts';

export interface ReplaySource {
  readonly runId: string;
  readonly log: LogReader;
  readonly events: EventReader;
}

export interface RunRead {
  readonly topic: EventTopic;
  /** A partition that is not named is read from its first offset. */
  readonly from: ReadonlyMap<number, number>;
  /** Decided before a record is decoded. */
  readonly wants?: (record: LogRecord) => boolean;
  /** Answers true when it has enough. */
  readonly take: (value: DecodedEvent, record: LogRecord) => boolean;
}

/** Ends a read from within; never seen outside of this file. */
class Enough extends Error {}

/** Resolves with true when `take` had enough, and with false at the end of the topic. What cannot be decoded is passed over, as the trainer does. */
export async function readRun({ runId, log, events }: ReplaySource, { topic, from, wants, take }: RunRead): Promise<boolean> {
  const enough = new Enough('enough was read');
  async function each(record: LogRecord): Promise<boolean> {
    if (!ofRun(record, runId) || wants?.(record) === false) return false;
    const read = await events.read(record);
    return read.ok && take(read.value, record);
  }
  try {
    await log.readToEnd(topic, {
      from,
      onBatch: async ({ records }) => {
        for (const record of records) if (await each(record)) throw enough;
      },
    });
    return false;
  } catch (error) {
    if (error === enough) return true;
    throw error;
  }
}
