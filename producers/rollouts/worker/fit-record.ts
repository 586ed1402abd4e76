// Keeps a rollout record under the limit of the log. Pure. The longest texts are cut first and to one common length,
// so that a huge page never costs a short query; identities (ids, versions, tokens, hashes, lengths) are never cut.
// `result_chars` and `result_sha256` are those of the whole text: the caller sets them before.
import type { TrajectoryFinished, TurnRecorded } from '../../../schemas/generated/events.ts';

/** Largest encoded event, bytes: below Kafka's default of 1 MiB with room for key, headers and framing. */
export const RECORD_LIMIT_BYTES = 900_000;

const NUMBER_BYTES = 10;
/** Slugs that come from policies and tools: longer ones say nothing more. */
const SLUG_CHARS = 200;

const textBytes = (text: string): number => Buffer.byteLength(text) + 5;

/** The longest prefix of at most `maxBytes` in UTF-8 that ends between two characters. */
export function cutUtf8(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  let end = Math.max(0, Math.floor(maxBytes));
  // a character takes a byte at least: what is beyond need not be encoded, however long the text is
  const bytes = Buffer.from(text.slice(0, end + 1));
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.toString('utf8', 0, end);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The common length to which the longest of `sizes` must be cut so that all together take at most `budget`. */
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

/** Cuts the string values of a JSON object so that the text has at most `maxBytes`; '{}' when that is not enough. */
function cutArguments(json: string, maxBytes: number): string {
  if (Buffer.byteLength(json) <= maxBytes) return json;
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return '{}';
    const entries = Object.entries(parsed);
    // An escape takes up to six bytes for one, so the values get a sixth of the room.
    const room = Math.floor(maxBytes / (6 * Math.max(1, entries.length)));
    const cut = entries.map(([name, value]) => [name, typeof value === 'string' ? cutUtf8(value, room) : value] as const);
    const shorter = JSON.stringify(Object.fromEntries(cut));
    return Buffer.byteLength(shorter) <= maxBytes ? shorter : '{}';
  } catch {
    return '{}';
  }
}

const slug = (text: string): string => (text.length > SLUG_CHARS ? cutUtf8(text, SLUG_CHARS) : text);

/** Upper bound of the encoded size of the parts that are not cut. */
function fixedTurnBytes(turn: TurnRecorded): number {
  const identities = [turn.event_id, turn.run_id, turn.producer, turn.group_id, turn.trajectory_id, turn.worker_id, turn.purpose];
  const slugs = [turn.question_id, turn.finish_reason, turn.tool, turn.call_id, turn.status, turn.error_type, turn.result_sha256];
  const texts = [...identities, ...slugs].reduce((sum, text) => sum + textBytes(text), 0);
  return texts + 24 * NUMBER_BYTES + turn.policy_spans.length * 2 * NUMBER_BYTES;
}

const itemBytes = (turn: TurnRecorded): number => turn.items.reduce((sum, item) => sum + textBytes(item.url) + textBytes(item.title), 10);
const tokenBytes = (turn: TurnRecorded): number => turn.token_ids.length * 5 + turn.logprobs.length * 4 + 20;
const decisionBytes = (turn: TurnRecorded): number => (turn.decision === null ? 1 : turn.decision.features.length + 6 * NUMBER_BYTES);
const cutBytes = (turn: TurnRecorded): number => textBytes(turn.text) + textBytes(turn.result) + textBytes(turn.arguments);

/** Upper bound of the encoded size of a turn, bytes. */
export const turnBytes = (turn: TurnRecorded): number =>
  fixedTurnBytes(turn) + itemBytes(turn) + tokenBytes(turn) + decisionBytes(turn) + cutBytes(turn);

/** As many of the first items as fit. */
function fittingItems(items: TurnRecorded['items'], budget: number): TurnRecorded['items'] {
  let left = budget;
  const end = items.findIndex((item) => (left -= textBytes(item.url) + textBytes(item.title)) < 0);
  return end < 0 ? items : items.slice(0, end);
}

/**
 * A turn of at most `limit` bytes. Over it, texts, arguments, items and at last token lists and the decision give way,
 * and `truncated` is set. A turn that fits comes back unchanged.
 */
export function fitTurn(original: TurnRecorded, limit = RECORD_LIMIT_BYTES): TurnRecorded {
  const turn = {
    ...original,
    finish_reason: slug(original.finish_reason),
    error_type: slug(original.error_type),
    call_id: slug(original.call_id),
  };
  if (turnBytes(turn) <= limit) return turn;
  // What the learner needs comes before what people read, unless it alone takes more than half of a record.
  const half = (limit - fixedTurnBytes(turn)) / 2;
  const decision = decisionBytes(turn) <= half ? turn.decision : null;
  const kept = { ...turn, decision, truncated: true };
  const tokens = decisionBytes(kept) + tokenBytes(kept) <= half ? kept : { ...kept, token_ids: [], logprobs: [] };
  const free = limit - fixedTurnBytes(tokens) - decisionBytes(tokens) - tokenBytes(tokens) - 3 * NUMBER_BYTES;
  const items = fittingItems(tokens.items, free / 4);
  const budget = free - itemBytes({ ...tokens, items });
  const texts = [tokens.text, tokens.result, tokens.arguments];
  const level = waterLevel(texts.map(textBytes), budget) - 5;
  return {
    ...tokens,
    items,
    text: cutUtf8(tokens.text, level),
    result: cutUtf8(tokens.result, level),
    arguments: cutArguments(tokens.arguments, level),
  };
}

/** The end of an attempt in at most `limit` bytes: question, answer and error are cut to one common length. */
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
