// The effect of a fault, beyond what is visible in the log.
import type { EventTopic } from '../../../schemas/generated/events.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';

/** The target of a fault and its effect. */
export interface Done {
  /** Process that was hit; undefined when there was none. */
  readonly pid?: number | undefined;
  /** Which of several brokers, what was lost, what responded. */
  readonly detail?: string;
  /** Records that are no longer in the log. */
  readonly gone?: Gone;
}

/** Records that are gone from the log, and where their partition ended when they were lost. */
export interface Gone {
  readonly how: 'cut' | 'deleted';
  readonly topic: EventTopic;
  readonly parts: readonly GonePart[];
  /** End of the ledger afterwards. */
  readonly ledgerEnd: number;
}

export interface GonePart {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly records: readonly LogRecord[];
}
