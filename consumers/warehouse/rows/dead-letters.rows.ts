// dead-letters -> dead_letter_events, dead_letter_retries. Bytes are base64, because they can be anything.
import type { DeadLetterRetried, DeadLettered } from '../../../schemas/generated/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import type { Origin } from './cells.ts';
import { row, type ProjectionsOf } from './projection.ts';

export const deadLetterRow = (event: DeadLettered, origin: Origin): Row => ({
  original_topic: event.original_topic,
  original_partition: event.original_partition,
  original_offset: event.original_offset,
  original_timestamp: event.original_timestamp,
  has_key: event.original_key !== null,
  original_key_base64: event.original_key?.toString('base64') ?? '',
  has_value: event.original_value !== null,
  original_value_base64: event.original_value?.toString('base64') ?? '',
  original_value_bytes: event.original_value?.length ?? 0,
  header_names: event.original_headers.map((header) => header.name),
  header_values_base64: event.original_headers.map((header) => header.value.toString('base64')),
  step: event.step,
  reason: event.reason,
  error: event.error,
  run_id: event.run_id,
  event_id: event.event_id,
  occurred_at: event.occurred_at,
  producer: event.producer,
  ...origin,
});

const deadLetterRetryRow = (event: DeadLetterRetried, origin: Origin): Row => ({
  letter_id: event.letter_id,
  original_topic: event.original_topic,
  original_partition: event.original_partition,
  original_offset: event.original_offset,
  run_id: event.run_id,
  event_id: event.event_id,
  occurred_at: event.occurred_at,
  producer: event.producer,
  ...origin,
});

export const deadLetterProjections = {
  DeadLettered: row('dead_letter_events', deadLetterRow),
  DeadLetterRetried: row('dead_letter_retries', deadLetterRetryRow),
} satisfies ProjectionsOf<'dead-letters'>;
