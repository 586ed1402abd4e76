// Copies a turn out of the fetch buffer that it was read from, so that a reader that waits for the rest of an attempt does not keep whole
// fetches in memory.
import type { TurnRecorded } from '../../schemas/generated/events.ts';
import type { PackedList } from '../../schemas/packed.ts';
import type { RecordedTurn, TokenTurn } from './token-turn.ts';

const LISTS = ['prompt_ids', 'token_ids', 'logprobs', 'loss_mask'] as const;

/** A list of numbers in a separate array. */
export const listOf = <T extends Int32Array | Float32Array>(values: T): PackedList<T> => ({
  length: values.length,
  copyTo(target, to, count) {
    target.set(values.subarray(0, count), to);
  },
});

const NO_WHOLES = listOf(new Int32Array(0));

function wholes(list: PackedList<Int32Array>): PackedList<Int32Array> {
  if (list.length === 0) return NO_WHOLES;
  const values = new Int32Array(list.length);
  list.copyTo(values, 0, list.length);
  return listOf(values);
}

function floats(list: PackedList<Float32Array>): PackedList<Float32Array> {
  const values = new Float32Array(list.length);
  list.copyTo(values, 0, list.length);
  return listOf(values);
}

/** The same turn, with copies of its lists. */
export const keepTurn = (turn: RecordedTurn): RecordedTurn => ({
  ...turn,
  prompt_ids: wholes(turn.prompt_ids),
  token_ids: wholes(turn.token_ids),
  logprobs: floats(turn.logprobs),
  loss_mask: wholes(turn.loss_mask),
});

/** For a reader that decodes whole events. */
export const turnOfEvent = (event: TurnRecorded): RecordedTurn => ({
  ...event,
  prompt_ids: listOf(Int32Array.from(event.prompt_ids)),
  token_ids: listOf(Int32Array.from(event.token_ids)),
  logprobs: listOf(Float32Array.from(event.logprobs)),
  loss_mask: listOf(Int32Array.from(event.loss_mask)),
});

const BESIDE_LISTS = 400;

/** Approximate memory of a kept turn, bytes. */
export const bytesOfTurn = (turn: TokenTurn): number => LISTS.reduce((sum, name) => sum + 4 * turn[name].length, BESIDE_LISTS);
