// Reads dead-letters: all letters without their bytes, or selected ones in full.
import type { DeadLettered } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, LogReader, LogRecord } from '../../streams/core/ports.ts';
import { eventsOf } from '../../streams/core/read-log.ts';
import { createLetterBook, type DeadLetter } from './letters.ts';

export interface ReadDeps {
  readonly log: LogReader;
  readonly events: EventReader;
}

/** Every letter of the log, oldest first. */
export async function readLetters({ log, events }: ReadDeps): Promise<readonly DeadLetter[]> {
  const book = createLetterBook();
  for await (const read of eventsOf({ log, events }, 'dead-letters')) book.add(read);
  return book.letters();
}

/** A letter with its record of dead-letters; `event` is undefined when the record cannot be decoded as a letter. */
export interface WholeLetter {
  readonly letter: DeadLetter;
  readonly record: LogRecord;
  readonly event: DeadLettered | undefined;
}

const placeOf = ({ partition, offset }: { readonly partition: number; readonly offset: number }): string => `${partition}/${offset}`;

/** Passes the full letters to `each`, in log order, one after the other. */
export async function eachWhole(
  { log, events }: ReadDeps,
  letters: readonly DeadLetter[],
  each: (whole: WholeLetter) => Promise<void>,
): Promise<void> {
  if (letters.length === 0) return;
  const wanted = new Map(letters.map((letter) => [placeOf(letter.at), letter]));
  const from = new Map<number, number>();
  for (const { at } of letters) from.set(at.partition, Math.min(at.offset, from.get(at.partition) ?? at.offset));
  const wants = (record: LogRecord): boolean => wanted.has(placeOf(record));
  for await (const read of eventsOf({ log, events }, 'dead-letters', { from, wants })) {
    const letter = wanted.get(placeOf(read.record));
    if (letter === undefined) continue;
    wanted.delete(placeOf(read.record));
    await each({ letter, record: read.record, event: read.ok && read.value.type === 'DeadLettered' ? read.value.event : undefined });
  }
}

/** The letters with these ids, in log order. Throws NOT_FOUND with all ids that do not exist. */
export function lettersById(letters: readonly DeadLetter[], ids: readonly string[]): readonly DeadLetter[] {
  const wanted = new Set(ids);
  const found = letters.filter(({ id }) => wanted.delete(id));
  if (wanted.size === 0) return found;
  throw new PlatformError(
    'NOT_FOUND',
    `looking for dead letters: there is none with the id ${[...wanted].join(', ')}; \`turnstream dead-letters list\` shows the ids`,
  );
}
