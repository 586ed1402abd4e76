// When records were appended, as seen from outside and by one clock: the ends of the partitions, looked at several times a
// second. The times that records carry are those of their writers, whose clocks a torture moves.
import type { EventTopic } from '../../../schemas/generated/events.ts';

/** A partition had grown, or had been cut, when it was looked at: later than `sinceMs`, by `atMs`. */
interface Growth {
  readonly sinceMs: number;
  readonly atMs: number;
  readonly end: number;
}

interface Place {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly offset: number;
}

/** Between which times, ms after the start of the torture, something happened. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Timeline {
  look(topic: EventTopic, partition: number, seen: Growth): void;
  /** When the record was appended that lies there now. */
  appended(place: Place): Span;
}

export function createTimeline(): Timeline {
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
      // what was cut and written anew was appended when the end came past it for the last time
      const before = known.findLastIndex(({ end }) => end <= offset);
      const seen = known[before + 1] ?? newest;
      return { fromMs: before < 0 ? -Infinity : seen.sinceMs, toMs: seen.atMs };
    },
  };
}
