// Encodes events like an earlier version of a producer, for tests and benchmarks of logs with several versions.
import avro from 'avsc';
import { frame } from './framing.ts';
import { contentId } from './subjects.ts';
import type { EventByType, PublishedSchema } from './generated/events.ts';

/** Framed bytes of an event as this version has it; fields that it does not have are left out. */
export function encoderOf({ schema }: Pick<PublishedSchema, 'schema'>): (event: EventByType[PublishedSchema['name']]) => Buffer {
  const [id, type] = [contentId(schema), avro.Type.forSchema(JSON.parse(schema) as avro.Schema)];
  return (event) => frame(id, type.toBuffer(event));
}
