// Formats dead letters. Their content is untrusted: control characters never reach a terminal.
import { obstacleTo, type LetterGroup, type DeadLetter } from '../../../consumers/dead-letters/letters.ts';
import type { RetryLine } from '../../../consumers/dead-letters/retry.ts';
import type { LetterList, ShownLetter } from './dead-letters.ts';

const SHOWN_BYTES = 4_096;
const ROW_BYTES = 16;

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const plain = (text: string): string => text.replaceAll(CONTROL, '\u00b7');
const timeOf = (ms: number): string => (Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : 'unknown');

function stateOf({ retriedAtMs, retryOf }: DeadLetter): string {
  if (retriedAtMs !== undefined) return 'retried';
  return retryOf === '' ? 'open' : 'failed again';
}

const line = (letter: DeadLetter): string =>
  [timeOf(letter.atMs), stateOf(letter).padEnd(12), letter.id.padEnd(28), letter.reason.padEnd(16), letter.error.slice(0, 120)]
    .map(plain)
    .join('  ')
    .trimEnd();

const countOf = ({ topic, reason, letters, retried }: LetterGroup): string =>
  `${String(letters).padStart(8)}  ${plain(topic)}  ${plain(reason)}${retried > 0 ? `  (${retried} retried)` : ''}`;

/** One line per letter, then counts by topic and reason. */
export function renderLetters({ letters, groups, total }: LetterList): string {
  if (total === 0) return 'no dead letters\n';
  const left = total - letters.length;
  return [
    ...(left > 0 ? [`… ${left} older ones; see --limit`] : []),
    ...letters.map(line),
    '',
    ...groups.map(countOf),
    `${String(total).padStart(8)}  dead letters`,
    '',
  ].join('\n');
}

/** Offset, hexadecimal and text side by side. */
export function hexDump(bytes: Buffer, limit = SHOWN_BYTES): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, limit); at += ROW_BYTES) {
    const row = bytes.subarray(at, Math.min(at + ROW_BYTES, limit));
    const hex = [...row].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = [...row].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`  ${at.toString(16).padStart(6, '0')}  ${hex.padEnd(ROW_BYTES * 3 - 1)}  ${text}`);
  }
  if (bytes.length > limit) lines.push(`  … ${bytes.length - limit} more bytes; --raw prints all of them`);
  return lines.map((text) => `${text}\n`).join('');
}

/** JSON with buffers as hexadecimal strings. */
export function toJson(value: unknown, indent?: number): string {
  const replaced = function (this: Readonly<Record<string, unknown>>, key: string, found: unknown): unknown {
    const before = this[key];
    return Buffer.isBuffer(before) ? before.toString('hex') : found;
  };
  return JSON.stringify(value, replaced, indent);
}

const textOf = (bytes: Buffer | null): string => (bytes === null ? 'none' : plain(bytes.toString('utf8').slice(0, 400)));

/** One letter in full: its origin, its reason, its headers and bytes, and the event if it can be decoded. */
export function renderLetter(shown: ShownLetter): string {
  const { record, event, decoded } = shown;
  const value = event === undefined ? record.value : event.original_value;
  const rows = rowsOf(shown);
  const width = Math.max(...rows.map(([name]) => Math.min(name.length, 30)));
  return [
    ...rows.map(([name, text]) => `${plain(name).padEnd(width)}  ${plain(text)}\n`),
    value === null ? 'value: none\n' : `value: ${value.length} bytes\n${hexDump(value)}`,
    decoded === undefined ? '' : `${decoded.type} ${toJson(decoded.event, 2)}\n`,
  ].join('');
}

function retryOf({ letter, decoded, obstacle }: ShownLetter): string {
  if (obstacle === '') return 'possible';
  return `${decoded === undefined && obstacleTo(letter) === undefined ? 'still cannot be decoded' : 'not possible'}: ${obstacle}`;
}

function rowsOf(shown: ShownLetter): readonly (readonly [string, string])[] {
  const { letter, record, event } = shown;
  const { original, at, retriedAtMs } = letter;
  const origin = letter.retryOf === '' ? [] : [['retry of', letter.retryOf] as const];
  return [
    ['id', letter.id],
    ['state', stateOf(letter) + (retriedAtMs === undefined ? '' : ` at ${timeOf(retriedAtMs)}`)],
    ...origin,
    ['original', `${original.topic}/${original.partition}@${original.offset}`],
    ['letter', `dead-letters/${at.partition}@${at.offset}, written ${timeOf(letter.atMs)} by ${event?.producer ?? 'unknown'}`],
    ['run', letter.run],
    ['step', letter.step],
    ['reason', letter.reason],
    ['error', letter.error],
    ['key', textOf(event === undefined ? record.key : event.original_key)],
    ...(event?.original_headers ?? []).map(({ name, value: bytes }) => [`header ${name}`, textOf(bytes)] as const),
    ['retry', retryOf(shown)],
  ];
}

const words = { retried: 'retried', would_retry: 'would be retried', retried_before: 'was retried before', left: 'not retried' } as const;

/** One line per letter, then the counts. */
export function renderRetry(lines: readonly RetryLine[]): string {
  const counts = Object.entries(words).flatMap(([verdict, word]) => {
    const count = lines.filter((one) => one.verdict === verdict).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  return [
    ...lines.map(({ id, verdict, detail }) => plain(`${words[verdict].padEnd(18)} ${id}${detail === '' ? '' : `: ${detail}`}`)),
    counts.length === 0 ? 'no dead letters' : counts.join(', '),
    '',
  ].join('\n');
}
