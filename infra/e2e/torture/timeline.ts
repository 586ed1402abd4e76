// When records were appended, observed from outside with one clock: the ends of the partitions are polled several times per second. Record
// timestamps come from their writers, whose clocks the torture test shifts.
import type { EventTopic } from '../../../schemas/generated/events.ts';

/** A partition had grown, or had been truncated, when it was polled: after `sinceMs`, and by `atMs`. */
interface Growth {
  readonly sinceMs: number;
  readonly atMs: number;
  readonly end: number;
}

interface RecordPosition {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly offset: number;
}

/** The interval in which something happened, ms after the start of the torture test. */
export interface TimeInterval {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface AppendTimeline {
  look(topic: EventTopic, partition: number, seen: Growth): void;
  /** When the current record at this position was appended. */
  appended(place: RecordPosition): TimeInterval;
}

export function createTimeline(): AppendTimeline {
  const growths = new Map<string, Growth[]>();
  const of = (topic: EventTopic, partition: number): Growth[] => {
    const key = `${topic}/${partition}`;
    const known = growths.get(key) ?? [];
    growths.set(key, known);
    return known;
  };
  return {
    look(topic, partition, seen) {
      const known = of(topic, partition);
      if (known.at(-1)?.end !== seen.end) known.push(seen);
    },
    appended({ topic, partition, offset }) {
      const known = of(topic, partition);
      const newest = known.at(-1);
      if (newest === undefined || newest.end <= offset) return { fromMs: newest?.atMs ?? -Infinity, toMs: Infinity };
      // truncated and rewritten records count from the last time that the end passed them
      const before = known.findLastIndex(({ end }) => end <= offset);
      const seen = known[before + 1] ?? newest;
      return { fromMs: before < 0 ? -Infinity : seen.sinceMs, toMs: seen.atMs };
    },
  };
}
