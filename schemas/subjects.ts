import { createHash } from 'node:crypto';
import { eventTypes, publishedSchemas, type EventTopic, type EventType, type PublishedSchema } from './generated/events.ts';

/** The topic (without namespace) that each event type is written to. */
export const topicOf: Readonly<Record<EventType, EventTopic>> = Object.fromEntries(
  Object.entries(eventTypes).flatMap(([topic, types]) => types.map((type) => [type, topic])),
) as Record<EventType, EventTopic>;

/** Full Avro name of an event, e.g. `turnstream.rollouts.TurnRecorded`. */
export function fullNameOf(entry: Pick<PublishedSchema, 'schema'>): string {
  const { name, namespace } = JSON.parse(entry.schema) as { name: string; namespace: string };
  return `${namespace}.${name}`;
}

/** TopicRecordNameStrategy: `<namespaced topic>-<full record name>`. */
export const subjectOf = (namespace: string, entry: PublishedSchema): string => `${namespace}.${entry.topic}-${fullNameOf(entry)}`;

/**
 * Schema id derived from the schema text (the first 32 bits of its SHA-256 with the highest bit cleared, never 0), so that producers whose
 * registry has no central allocator agree on ids without coordination.
 */
export function contentId(schema: string): number {
  const id = createHash('sha256').update(schema).digest().readUInt32BE(0) & 0x7fffffff;
  return id === 0 ? 1 : id;
}

/** The newest published version of an event type. */
export function latestSchema(type: EventType): PublishedSchema {
  const found = publishedSchemas.filter((entry) => entry.name === type).at(-1);
  if (found === undefined) throw new RangeError(`no schema is published for ${type}`);
  return found;
}
