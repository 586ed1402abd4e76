// Keeps a rollout record below the size limit of the log. Pure. The longest texts are truncated first, to a common length, so that a huge
// page never truncates a short query. Ids except `call_id`, versions, token counts, hashes, and lengths are never truncated. `result_chars`
// and `result_sha256` are those of the full text: the caller sets them first.
import { FRAME_BYTES } from '../../../schemas/framing.ts';
import type { TrajectoryFinished, TurnRecorded } from '../../../schemas/generated/events.ts';
import { emptyTurn, fieldsCutAs } from '../../../schemas/rollouts/turn.ts';
import { sizeBounds } from '../../../schemas/size-bound.ts';
import { latestSchema } from '../../../schemas/subjects.ts';

/** Largest encoded event, bytes: below Kafka's default of 1 MiB with room for key, headers and framing. */
export const RECORD_LIMIT_BYTES = 900_000;

const NUMBER_BYTES = 10;
/** Maximum length of slugs from policies and tools; longer ones are not useful. */
const SLUG_CHARS = 200;

/** Maximum size of the length prefix of a text, bytes. */
const LENGTH_BYTES = 5;
const textBytes = (text: string): number => Buffer.byteLength(text) + LENGTH_BYTES;

/** The longest prefix of at most `maxBytes` in UTF-8 that ends between two characters. */
export function cutUtf8(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  let end = Math.max(0, Math.floor(maxBytes));
  // each character takes at least one byte, so the rest of a long text need not be encoded
  const bytes = Buffer.from(text.slice(0, end + 1));
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.toString('utf8', 0, end);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The common length to which the longest of `sizes` must be truncated so that their sum is at most `budget`. */
export function waterLevel(sizes: readonly number[], budget: number): number {
  const ascending = [...sizes].sort((a, b) => a - b);
  let left = Math.max(0, budget);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Number.MAX_SAFE_INTEGER;
}

/** Truncates the string values of a JSON object so that its text has at most `maxBytes`; '{}' if that is not enough. */
function cutArguments(json: string, maxBytes: number): string {
  if (Buffer.byteLength(json) <= maxBytes) return json;
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return '{}';
    const entries = Object.entries(parsed);
    // an escape can take six bytes per byte, so the values get a sixth of the space
    const room = Math.floor(maxBytes / (6 * Math.max(1, entries.length)));
    const cut = entries.map(([name, value]) => [name, typeof value === 'string' ? cutUtf8(value, room) : value] as const);
    const shorter = JSON.stringify(Object.fromEntries(cut));
    return Buffer.byteLength(shorter) <= maxBytes ? shorter : '{}';
  } catch {
    return '{}';
  }
}

const slug = (text: string): string => (text.length > SLUG_CHARS ? cutUtf8(text, SLUG_CHARS) : text);

const bounds = sizeBounds<TurnRecorded>(latestSchema('TurnRecorded').schema) as Readonly<Record<string, (value: unknown) => number>>;
const bound = (field: TurnField, value: unknown): number => bounds[field]?.(value) ?? 0;

type TurnField = keyof TurnRecorded;
/** The fields to truncate or drop, by kind; all others are kept in full. */
const [slugs, texts, jsons] = [fieldsCutAs('slug'), fieldsCutAs('text'), fieldsCutAs('arguments')];
const [lists, calls] = [fieldsCutAs('items'), fieldsCutAs('calls')];
const [tokens, decisions] = [fieldsCutAs('tokens'), fieldsCutAs('decision')];
const fixed = [...fieldsCutAs(undefined), ...slugs];

const bytesOf = (turn: TurnRecorded, fields: readonly TurnField[]): number =>
  fields.reduce((sum, field) => sum + bound(field, turn[field]), 0);

/** Upper bound of the encoded size of a turn, bytes. */
export const turnBytes = (turn: TurnRecorded): number =>
  FRAME_BYTES + bytesOf(turn, [...fixed, ...texts, ...jsons, ...lists, ...calls, ...tokens, ...decisions]);

/** Replaces these fields of a turn. */
const changed = (turn: TurnRecorded, fields: readonly TurnField[], to: (field: TurnField) => unknown): TurnRecorded => ({
  ...turn,
  ...Object.fromEntries(fields.map((field) => [field, to(field)])),
});

const without = (turn: TurnRecorded, fields: readonly TurnField[]): TurnRecorded => changed(turn, fields, (field) => emptyTurn[field]);

/** The first items of each list, as many as fit. */
function fittingLists(turn: TurnRecorded, budget: number): TurnRecorded {
  let left = budget;
  return changed(turn, lists, (field) => {
    const items = turn[field] as readonly unknown[];
    const none = bound(field, []);
    const end = items.findIndex((item) => (left -= bound(field, [item]) - none) < 0);
    return end < 0 ? items : items.slice(0, end);
  });
}

type FurtherCalls = TurnRecorded['more_calls'];

/** The first additional calls, as many as fit, with their texts truncated to a common length. */
function fittingCalls(turn: TurnRecorded, budget: number): TurnRecorded {
  return changed(turn, calls, (field) => {
    const all = turn[field] as FurtherCalls;
    const none = bound(field, []);
    let left = budget - none;
    const end = all.findIndex((call) => (left -= bound(field, [{ ...call, arguments: '{}', result: '' }]) - none) < 0);
    if (end >= 0) return all.slice(0, end).map((call) => ({ ...call, arguments: '{}', result: '' }));
    const level = waterLevel(
      all.flatMap((call) => [textBytes(call.arguments), textBytes(call.result)]),
      left,
    );
    const most = level - LENGTH_BYTES;
    return all.map((call) => ({ ...call, arguments: cutArguments(call.arguments, most), result: cutUtf8(call.result, most) }));
  });
}

/**
 * Reduces a turn to at most `limit` bytes and sets `truncated`: shortens texts, arguments, items, and additional calls; drops the decision
 * or the token lists if they alone take most of the space. If a turn fits, only long slugs are shortened.
 */
export function fitTurn(original: TurnRecorded, limit = RECORD_LIMIT_BYTES): TurnRecorded {
  const turn = changed(original, slugs, (field) => slug(original[field] as string));
  if (turnBytes(turn) <= limit) return turn;
  const room = limit - FRAME_BYTES - bytesOf(turn, fixed);
  // what the learner needs has priority over what people read, unless it alone takes most of a record
  const decided = bytesOf(turn, decisions) <= room / 2 ? turn : without(turn, decisions);
  const learned = bytesOf(decided, [...decisions, ...tokens]) <= room * 0.75 ? decided : without(decided, tokens);
  const free = room - bytesOf(learned, [...decisions, ...tokens]);
  const listed = fittingCalls(fittingLists({ ...learned, truncated: true }, free / 4), free / 4);
  const cut = [...texts, ...jsons];
  const level = waterLevel(
    cut.map((field) => bound(field, listed[field])),
    free - bytesOf(listed, [...lists, ...calls]),
  );
  const most = level - LENGTH_BYTES;
  const shorter = changed(listed, texts, (field) => cutUtf8(listed[field] as string, most));
  return changed(shorter, jsons, (field) => cutArguments(listed[field] as string, most));
}

/** The end of an attempt in at most `limit` bytes: question, answer, and error are truncated to a common length. */
export function fitFinished(finished: TrajectoryFinished, limit = RECORD_LIMIT_BYTES): TrajectoryFinished {
  const identities = [finished.event_id, finished.run_id, finished.producer, finished.group_id, finished.trajectory_id];
  const slugs = [finished.worker_id, finished.purpose, finished.question_id, finished.status];
  const judged = [finished.judge, finished.verdict, finished.judge_reason, finished.judge_served, finished.judge_prompt_sha256];
  const fixed = [...identities, ...slugs, ...judged].reduce((sum, text) => sum + textBytes(text), 28 * NUMBER_BYTES);
  const sizes = [finished.question, finished.answer, finished.error].map(textBytes);
  if (fixed + sizes.reduce((sum, size) => sum + size, 0) <= limit) return finished;
  const level = waterLevel(sizes, limit - fixed) - 5;
  return {
    ...finished,
    question: cutUtf8(finished.question, level),
    answer: cutUtf8(finished.answer, level),
    error: cutUtf8(finished.error, level),
  };
}
