// What a strike has done, beside what shows of it in the log.
import type { EventTopic } from '../../../schemas/generated/events.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';

/** What a fault was done to. */
export interface Done {
  /** Process that was struck; undefined when none was. */
  readonly pid?: number | undefined;
  /** Which broker of several, what was lost, what answered. */
  readonly detail?: string;
  /** Records that are not in the log any more. */
  readonly gone?: Gone;
}

/** Records that the log held once, with where its partition ended when they went. */
export interface Gone {
  readonly how: 'cut' | 'deleted';
  readonly topic: EventTopic;
  readonly parts: readonly GonePart[];
  /** End of the ledger after that. */
  readonly ledgerEnd: number;
}

export interface GonePart {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly records: readonly LogRecord[];
}
