// The topic dead-letters as plain values: which letters exist, which were retried, which may be retried.
import type { DeadLettered, DeadLetterRetried } from '../../schemas/generated/events.ts';
import { LETTER_HEADER } from '../../schemas/framing.ts';
import { topicOf } from '../../schemas/subjects.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { EventRead, LogRecord } from '../../streams/core/ports.ts';
import { runOf } from '../../streams/core/read-log.ts';

/** One dead letter without its bytes. */
export interface DeadLetter {
  /** Its event_id: `<topic>/<partition>/<offset>` of the original record, plus the table if only that table refused it. */
  readonly id: string;
  /** Position of the letter itself on dead-letters. */
  readonly at: { readonly partition: number; readonly offset: number };
  readonly original: { readonly topic: string; readonly partition: number; readonly offset: number };
  readonly run: string;
  readonly reason: string;
  readonly error: string;
  readonly step: string;
  /** When it was written, ms. */
  readonly atMs: number;
  /** Bytes of the stored value; -1 if the record had none. */
  readonly valueBytes: number;
  /** The original record was too long, so the letter does not contain all of it. */
  readonly cut: boolean;
  /** The letter whose retry wrote this record; empty for a record that was not a retry. */
  readonly retryOf: string;
  /** When its record was put back, ms; undefined if it was not. */
  readonly retriedAtMs: number | undefined;
}

/** What the sink appends to the error of a letter that it had to shorten. */
const CUT = /\[(?:value cut to \d+ of|key cut to \d+ of|\d+ headers left out)[^\]]*\]$/;

/** Collects letters and retry events, in log order. The first letter with an id counts. */
export interface LetterBook {
  add(read: EventRead): void;
  letters(): readonly DeadLetter[];
}

/** Stores no record bytes: a few hundred bytes per letter. */
export function createLetterBook(): LetterBook {
  const byId = new Map<string, DeadLetter>();
  const retried = new Map<string, number>();
  const put = (letter: DeadLetter): void => {
    if (!byId.has(letter.id)) byId.set(letter.id, letter);
  };
  return {
    add(read) {
      if (!read.ok) put(unreadableLetter(read.record, read));
      else if (read.value.type === 'DeadLettered') put(letterOf(read.record, read.value.event));
      else if (read.value.type === 'DeadLetterRetried') note(retried, read.value.event);
    },
    letters: () => [...byId.values()].map((letter) => ({ ...letter, retriedAtMs: retried.get(letter.id) })),
  };
}

function note(retried: Map<string, number>, event: DeadLetterRetried): void {
  if (!retried.has(event.letter_id)) retried.set(event.letter_id, event.occurred_at / 1_000);
}

function letterOf(record: LogRecord, event: DeadLettered): DeadLetter {
  const header = event.original_headers.find(({ name }) => name === LETTER_HEADER);
  return {
    id: event.event_id,
    at: { partition: record.partition, offset: record.offset },
    original: { topic: event.original_topic, partition: event.original_partition, offset: event.original_offset },
    run: event.run_id,
    reason: event.reason,
    error: event.error,
    step: event.step,
    atMs: event.occurred_at / 1_000,
    valueBytes: event.original_value?.length ?? -1,
    cut: CUT.test(event.error),
    retryOf: header?.value.toString('utf8') ?? '',
    retriedAtMs: undefined,
  };
}

/** A record of dead-letters that is not a letter appears as a letter of its own, as in the table. */
function unreadableLetter(record: LogRecord, { reason, error }: { readonly reason: string; readonly error: string }): DeadLetter {
  const { topic, partition, offset } = record;
  return {
    id: `${topic}/${partition}/${offset}`,
    at: { partition, offset },
    original: { topic, partition, offset },
    run: runOf(record),
    reason,
    error,
    step: '',
    atMs: record.timestampMs,
    valueBytes: record.value?.length ?? -1,
    cut: false,
    retryOf: '',
    retriedAtMs: undefined,
  };
}

export interface LetterFilter {
  readonly topic?: string;
  readonly reason?: string;
  readonly run?: string;
  /** Written at or after this time, ms. */
  readonly sinceMs?: number;
  /** Only letters whose record was not put back yet. */
  readonly open?: boolean;
}

export const fits = (letter: DeadLetter, filter: LetterFilter): boolean =>
  (filter.topic === undefined || letter.original.topic === filter.topic) &&
  (filter.reason === undefined || letter.reason === filter.reason) &&
  (filter.run === undefined || letter.run === filter.run) &&
  (filter.sinceMs === undefined || letter.atMs >= filter.sinceMs) &&
  (filter.open !== true || letter.retriedAtMs === undefined);

export interface LetterGroup {
  readonly topic: string;
  readonly reason: string;
  readonly letters: number;
  readonly retried: number;
}

/** Counts by topic and reason, largest first. */
export function groupsOf(letters: readonly DeadLetter[]): readonly LetterGroup[] {
  const groups = new Map<string, LetterGroup>();
  for (const { original, reason, retriedAtMs } of letters) {
    const key = JSON.stringify([original.topic, reason]);
    const known = groups.get(key) ?? { topic: original.topic, reason, letters: 0, retried: 0 };
    groups.set(key, { ...known, letters: known.letters + 1, retried: known.retried + (retriedAtMs === undefined ? 0 : 1) });
  }
  return [...groups.values()].sort((a, b) => b.letters - a.letters || (a.topic + a.reason < b.topic + b.reason ? -1 : 1));
}

const topics: ReadonlySet<string> = new Set(Object.values(topicOf));

const isTopic = (name: string): name is EventTopic => topics.has(name);

/** The topic to which a record can be put back. */
export const homeOf = ({ original }: DeadLetter): EventTopic | undefined => (isTopic(original.topic) ? original.topic : undefined);

/** Why the record of a letter must never be put back; undefined if it may. */
export function obstacleTo(letter: DeadLetter): string | undefined {
  const { topic } = letter.original;
  if (topic === 'dead-letters') return 'it is a record of dead-letters itself';
  if (!isTopic(topic)) return `there is no topic ${topic}`;
  if (topic === 'training') return 'an entry of the ledger has one place in its chain; `turnstream ledger verify` tells more';
  if (topic === 'tasks' && letter.reason === 'refused') return 'workers have read this task; it would be run once more';
  if (letter.cut) return `the letter does not keep all of it: ${CUT.exec(letter.error)?.[0] ?? ''}`;
  return undefined;
}

/** Why the warehouse could not read a record now; empty if it could. */
export function whyUnreadable(read: EventRead): string {
  if (!read.ok) return `${read.reason}: ${read.error}`;
  const home = topicOf[read.value.type];
  return home === read.record.topic ? '' : `wrong_topic: ${read.value.type} belongs on ${home}`;
}

/** Reconstructs the original record of a letter. */
export function originalOf(event: DeadLettered, topic: EventTopic): LogRecord {
  return {
    topic,
    partition: event.original_partition,
    offset: event.original_offset,
    timestampMs: event.original_timestamp / 1_000,
    key: event.original_key,
    value: event.original_value,
    headers: Object.fromEntries(event.original_headers.map(({ name, value }) => [name, value])),
  };
}
