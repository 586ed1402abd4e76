import type { EventRead } from '../../streams/core/ports.ts';
import { judgeRecord } from './dead-letter.step.ts';
import type { TakenRecord } from './flush.ts';

/** Size of key and value; for a lazily decoded record, only of its retained bytes, because key and value would be built just for this. */
const bytesOf = (read: EventRead): number =>
  read.ok && read.value.plain !== undefined
    ? read.value.plain.value.length
    : (read.record.value?.length ?? 0) + (read.record.key?.length ?? 0);

export const takenOf = (read: EventRead): TakenRecord => {
  const { record } = read;
  return { offset: record.offset, bytes: bytesOf(read), record, outcome: judgeRecord(read) };
};
