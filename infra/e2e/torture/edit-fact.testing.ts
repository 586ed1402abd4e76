// Replaces the event of a log record.
import type { DecodedEvent } from '../../../schemas/codec.ts';
import type { EventByType } from '../../../schemas/generated/events.ts';
import type { LogFact } from './facts.ts';

export function edit<T extends DecodedEvent['type']>(fact: LogFact, change: (event: EventByType[T]) => EventByType[T]): LogFact {
  return { ...fact, read: { type: fact.read.type, event: change(fact.read.event as EventByType[T]) } as DecodedEvent };
}
