// The position of a live stream, for Last-Event-ID: `<topic>/<partition>/<next offset>` of every partition, separated by commas.
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Position } from '../../../streams/core/ports.ts';

/** Next offsets by topic and partition; updated as batches pass. */
export class LivePositions {
  readonly #next = new Map<string, Position>();

  constructor(positions: readonly Position[] = []) {
    for (const position of positions) this.set(position);
  }

  set(position: Position): void {
    this.#next.set(`${position.topic}/${position.partition}`, position);
  }

  /** The next offset to read, or undefined for an unknown partition. */
  next(topic: EventTopic, partition: number): number | undefined {
    return this.#next.get(`${topic}/${partition}`)?.offset;
  }

  all(): readonly Position[] {
    return [...this.#next.values()];
  }

  copy(): LivePositions {
    return new LivePositions(this.all());
  }

  /** As the id of an event: a stream that reconnects with it continues from here. */
  toId(): string {
    return this.all()
      .map(({ topic, partition, offset }) => `${topic}/${partition}/${offset}`)
      .join(',');
  }
}

const PART = /^([a-z-]{1,40})\/(\d{1,6})\/(\d{1,15})$/;

/** Regular expression for an id; an empty id has no positions. */
export function positionsPattern(topics: readonly EventTopic[]): string {
  const position = `(${topics.join('|')})/[0-9]{1,6}/[0-9]{1,15}`;
  return `^(${position}(,${position})*)?$`;
}

/** Throws REQUEST_INVALID when the text is not the id of an event of this stream. */
export function parsePositions(id: string, topics: readonly EventTopic[]): readonly Position[] {
  return id.split(',').map((part) => {
    const [, name, partition, offset] = PART.exec(part) ?? [];
    const topic = topics.find((known) => known === name);
    if (topic === undefined) {
      throw new PlatformError('REQUEST_INVALID', 'reading the request: header last-event-id is not from this stream; connect without it');
    }
    return { topic, partition: Number(partition), offset: Number(offset) };
  });
}
