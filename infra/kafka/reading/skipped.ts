// Reports the ranges that a reader had to skip: each is logged once, counted, and passed to a callback.
import type { Logger, SkippedRange } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';

export type OnSkipped = (skipped: SkippedRange) => void;

export interface SkippedOptions {
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  /** Called for every range unless the read has its own callback. */
  readonly onSkipped?: OnSkipped | undefined;
}

/** The range in readable form: `rollouts/2 from offset 10 up to 19`. */
export const textOfSkipped = ({ topic, partition, from, to }: SkippedRange): string =>
  `${topic}/${partition} from offset ${from} up to ${to - 1}`;

/** Reports each range once per connection, however often it is read. */
export function createSkippedTeller({ logger, metrics, onSkipped }: SkippedOptions): (skipped: SkippedRange, own?: OnSkipped) => void {
  const told = new Set<string>();
  return (skipped, own) => {
    const text = textOfSkipped(skipped);
    if (!told.has(text)) {
      told.add(text);
      const { topic, partition, from, to } = skipped;
      logger.warn({ topic, partition, from, to }, `retention had deleted ${text} before it was read`);
      metrics?.count('kafka_skipped_records_total', { topic }, to - from);
    }
    (own ?? onSkipped)?.(skipped);
  };
}
