// What an engine returned in one attempt, and how its turns are recorded: any tree of prompts that continue each other, are truncated, are
// forked, or start again.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { PolicySpan, TurnRecorded } from '../../schemas/generated/events.ts';
import type { PackedList } from '../../schemas/packed.ts';
import { emptyTurn } from '../../schemas/rollouts/turn.ts';
import { rowsOf, type TokenRow } from '../../streams/rows/row.ts';
import type { TokenTurn } from '../../streams/rows/token-turn.ts';

/** One call of the engine: what it saw and wrote. */
export interface RecordedCall {
  readonly prompt: readonly number[];
  readonly completion: readonly number[];
  readonly logprobs: readonly number[];
  readonly loss: readonly boolean[];
  /** Version of each completion token. */
  readonly versions: readonly number[];
}

/** A list of numbers that was not decoded from a record. */
export const packed = <T extends Int32Array | Float32Array>(values: T): PackedList<T> => ({
  length: values.length,
  copyTo(target, to, count) {
    target.set(values.subarray(0, count), to);
  },
});

interface CallPlan {
  /** Index of the earlier turn that the prompt continues. */
  readonly parent: number;
  readonly how: 'continues' | 'cut' | 'fresh';
  readonly cut: number;
  readonly delta: readonly number[];
  readonly tokens: readonly { readonly id: number; readonly logprob: number; readonly loss: boolean; readonly version: number }[];
  readonly isHashed: boolean;
}

const tokenId = fc.oneof(fc.nat(300), fc.nat(151_936), fc.constant(2 ** 31 - 1));
const logprob = fc.oneof(fc.double({ min: -30, max: 0, noNaN: true }).map(Math.fround), fc.constant(0));
const token = fc.record({ id: tokenId, logprob, loss: fc.boolean(), version: fc.integer({ min: -1, max: 4 }) });
const callPlan: fc.Arbitrary<CallPlan> = fc.record({
  parent: fc.oneof({ arbitrary: fc.constant(-1), weight: 3 }, { arbitrary: fc.nat(20), weight: 1 }),
  how: fc.oneof(
    { arbitrary: fc.constant('continues' as const), weight: 6 },
    { arbitrary: fc.constantFrom('cut' as const, 'fresh' as const), weight: 1 },
  ),
  cut: fc.nat(1_000),
  delta: fc.array(tokenId, { minLength: 1, maxLength: 12 }),
  tokens: fc.array(token, { maxLength: 12 }),
  isHashed: fc.boolean(),
});

/** Calls of one attempt, with the turns that record them. */
export interface RecordedCalls {
  readonly calls: readonly RecordedCall[];
  readonly turns: readonly TokenTurn[];
}

export const anyRecordedCalls: fc.Arbitrary<RecordedCalls> = fc.array(callPlan, { minLength: 1, maxLength: 14 }).map(record);

function record(plans: readonly CallPlan[]): RecordedCalls {
  const calls: RecordedCall[] = [];
  const turns: TokenTurn[] = [];
  for (const [turn, plan] of plans.entries()) {
    const parent = plan.how === 'fresh' || turn === 0 ? -1 : plan.parent < 0 ? turn - 1 : plan.parent % turn;
    const before = parent < 0 ? [] : [...calls[parent]!.prompt, ...calls[parent]!.completion];
    const keep = plan.how === 'cut' ? plan.cut % (before.length + 1) : before.length;
    const prompt = [...before.slice(0, keep), ...plan.delta];
    const call = {
      prompt,
      completion: plan.tokens.map(({ id }) => id),
      logprobs: plan.tokens.map((one) => one.logprob),
      loss: plan.tokens.map(({ loss }) => loss),
      versions: plan.tokens.map(({ version }) => version),
    };
    calls.push(call);
    turns.push(turnOf({ call, turn, parent, keep, isHashed: plan.isHashed }));
  }
  return { calls, turns };
}

function turnOf(made: { call: RecordedCall; turn: number; parent: number; keep: number; isHashed: boolean }): TokenTurn {
  const { call, turn, parent, keep, isHashed } = made;
  const whole = Int32Array.from(call.prompt);
  return {
    turn,
    branch_parent: parent,
    prompt_keep: parent < 0 ? 0 : keep,
    prompt_ids: packed(whole.slice(parent < 0 ? 0 : keep)),
    prompt_sha256: isHashed ? createHash('sha256').update(new Uint8Array(whole.buffer)).digest('hex') : '',
    completion_tokens: call.completion.length,
    token_ids: packed(Int32Array.from(call.completion)),
    logprobs: packed(Float32Array.from(call.logprobs)),
    loss_mask: packed(call.loss.every(Boolean) ? new Int32Array(0) : Int32Array.from(call.loss, Number)),
    logprobs_kind: 'processed',
    policy_spans: spansOf(call.versions),
    sampling: '{"temperature":0.5,"top_p":1}',
    truncated: false,
  };
}

function spansOf(versions: readonly number[]): readonly PolicySpan[] {
  const spans: PolicySpan[] = [];
  for (const version of versions) {
    const last = spans.at(-1);
    if (last?.version === version) spans[spans.length - 1] = { version, tokens: last.tokens + 1 };
    else spans.push({ version, tokens: 1 });
  }
  // Tokens of unknown version at the end have no span, as with an engine that does not report versions.
  return spans.at(-1)?.version === -1 ? spans.slice(0, -1) : spans;
}

const ids = { trajectoryId: 'g-1.0', attempt: 0, groupId: 'g-1', purpose: 'train' } as const;
const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);

/** Any row that turns can result in, including some that cannot be trained on. */
export const anyRow: fc.Arbitrary<TokenRow> = fc
  .tuple(anyRecordedCalls, fc.nat(20), finite, finite, fc.constantFrom('train', 'eval', 'external'), fc.boolean())
  .map(([{ turns }, first, reward, advantage, purpose, isKnown]) => {
    const known = isKnown ? turns : turns.map((turn) => ({ ...turn, token_ids: packed(new Int32Array(0)), completion_tokens: 1 }));
    const rows = [...rowsOf({ ...ids, trajectoryId: 'g"\n.ä', purpose, reward, advantage, turns: known }, first)];
    return rows[first % rows.length]!;
  });

/** The events that a worker would have recorded of these calls. */
export const turnEvents = (turns: readonly TokenTurn[], more: Partial<TurnRecorded> = {}): readonly TurnRecorded[] =>
  turns.map((turn) => ({
    ...emptyTurn,
    ...turn,
    ...{ run_id: 'run', group_id: ids.groupId, trajectory_id: ids.trajectoryId, purpose: ids.purpose, sequence: turn.turn + 1 },
    event_id: `${ids.trajectoryId}/0/${turn.turn + 1}`,
    prompt_ids: valuesOf(turn.prompt_ids, Int32Array),
    token_ids: valuesOf(turn.token_ids, Int32Array),
    logprobs: valuesOf(turn.logprobs, Float32Array),
    loss_mask: valuesOf(turn.loss_mask, Int32Array),
    ...more,
  }));

function valuesOf<T extends Int32Array | Float32Array>(list: PackedList<T>, kind: new (length: number) => T): readonly number[] {
  const values = new kind(list.length);
  list.copyTo(values, 0, list.length);
  return [...values];
}
