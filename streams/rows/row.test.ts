import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { encoderOf } from '../../schemas/encode-as.ts';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { anyRecordedCalls, packed, turnEvents, type RecordedCall, type RecordedCalls } from '../../infra/testing/recorded-calls.ts';
import { branchesOf } from './branches.ts';
import { tokensIn } from './read-tokens.ts';
import { rowsOf, type TokenRow } from './row.ts';
import type { TokenTrajectory, TokenTurn } from './token-turn.ts';

const NO_WHOLES = packed(new Int32Array(0));
const NO_FLOATS = packed(new Float32Array(0));

const trajectory = (turns: readonly TokenTurn[], more: Partial<TokenTrajectory> = {}): TokenTrajectory => ({
  ...{ trajectoryId: 'g.0', attempt: 1, groupId: 'g', purpose: 'train', reward: 0.5, advantage: -1, turns },
  ...more,
});
const rows = (turns: readonly TokenTurn[], more: Partial<TokenTrajectory> = {}): readonly TokenRow[] => [
  ...rowsOf(trajectory(turns, more), 0),
];
const prefix = (turn: TokenTurn, parent: number, keep: number): TokenTurn => ({ ...turn, branch_parent: parent, prompt_keep: keep });
const call = (turn: number, prompt: readonly number[], completion: readonly number[]): TokenTurn => ({
  ...{ turn, branch_parent: -1, prompt_keep: 0, prompt_sha256: '', loss_mask: NO_WHOLES, truncated: false },
  ...{ completion_tokens: completion.length, logprobs_kind: 'raw', sampling: '', policy_spans: [] },
  prompt_ids: packed(Int32Array.from(prompt)),
  token_ids: packed(Int32Array.from(completion)),
  logprobs: packed(Float32Array.from(completion, () => -1)),
});

/** The versions of a row, one for each token. */
const versionsOf = ({ version_spans }: TokenRow): readonly number[] =>
  version_spans.flatMap(({ version, tokens }) => Array.from({ length: tokens }, () => version));

const codec = createCodec({ late: ['TurnRecorded'] });

/** What the log holds of turns, read from the bytes of their records. */
function throughLog(turns: readonly TokenTurn[]): readonly TokenTurn[] {
  return turnEvents(turns).map((event) => {
    const read = codec.decode(codec.encode('TurnRecorded', event));
    if (!read.ok || read.value.plain === undefined) throw new Error('the record is not plain');
    return tokensIn(read.value.plain);
  });
}

function expectEngine(row: TokenRow, calls: readonly RecordedCall[]): void {
  const length = row.token_ids.length;
  const [mask, logprobs, versions] = [0, 0, -1].map((empty) => new Array<number>(length).fill(empty)) as [number[], number[], number[]];
  row.turns.forEach((turn, at) => {
    const start = row.turn_starts[at]!;
    const { prompt, completion, ...made } = calls[turn]!;
    expect([...row.token_ids.subarray(0, start)], `prompt of turn ${turn}`).toEqual(prompt);
    expect([...row.token_ids.subarray(start, start + completion.length)], `completion of turn ${turn}`).toEqual(completion);
    completion.forEach((_, token) => {
      mask[start + token] = made.loss[token] === true ? 1 : 0;
      logprobs[start + token] = made.logprobs[token]!;
      versions[start + token] = made.versions[token]!;
    });
  });
  expect([...row.mask]).toEqual(mask);
  expect([...row.logprobs]).toEqual(logprobs);
  expect(versionsOf(row)).toEqual(versions);
  const last = calls[row.turns.at(-1)!]!;
  expect(length).toBe(last.prompt.length + last.completion.length);
}

describe('the rows of an attempt', () => {
  it('are what the engine saw and wrote, token by token, each turn in one row', () => {
    let forked = 0;
    fc.assert(
      fc.property(anyRecordedCalls, ({ calls, turns }: RecordedCalls) => {
        const made = rows(throughLog(turns));
        expect(made).toEqual(rows(turns));
        forked += made.length > 1 ? 1 : 0;
        for (const row of made) expectEngine(row, calls);
        const told = made.flatMap((row) => [...row.turns]);
        expect(told.sort((a, b) => a - b)).toEqual(turns.map(({ turn }) => turn));
        for (const row of made)
          expect([row.trainable, row.why_not]).toEqual(row.mask.includes(1) ? [true, ''] : [false, 'nothing_sampled']);
      }),
      { numRuns: 150 },
    );
    expect(forked).toBeGreaterThan(30);
  });

  it('are one for a conversation that continues, with its ids and versions', () => {
    const turns = [call(0, [1, 2], [3]), prefix(call(1, [4], [5, 6]), 0, 3), prefix(call(2, [7], [8]), 1, 6)];
    expect(
      rows(turns.map((turn, at) => ({ ...turn, policy_spans: [{ version: at, tokens: 9 }], sampling: '{"temperature":0.7}' }))),
    ).toEqual([
      {
        ...{ row: 0, trajectory_id: 'g.0', attempt: 1, group_id: 'g', branch: 0, reward: 0.5, advantage: -1 },
        token_ids: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8),
        mask: Uint8Array.of(0, 0, 1, 0, 1, 1, 0, 1),
        logprobs: Float32Array.of(0, 0, -1, 0, -1, -1, 0, -1),
        version_spans: [
          { version: -1, tokens: 2 },
          { version: 0, tokens: 1 },
          { version: -1, tokens: 1 },
          { version: 1, tokens: 2 },
          { version: -1, tokens: 1 },
          { version: 2, tokens: 1 },
        ],
        ...{ turns: Int32Array.of(0, 1, 2), turn_starts: Int32Array.of(2, 4, 7), prompt_len: 2 },
        ...{ temperature: 0.7, logprobs_kind: 'raw', trainable: true, why_not: '' },
      },
    ]);
  });

  it('contain what their prompts keep of another branch, as prompt', () => {
    // Turn 1 continues turn 0, turn 2 the first of turn 0's two tokens, turn 3 turn 1, and turn 4 turn 0 once more.
    const turns = [call(0, [1], [2, 3]), prefix(call(1, [4], [5]), 0, 3), prefix(call(2, [6], [7]), 0, 2), prefix(call(3, [8], [9]), 1, 5)];
    const all = [...turns, prefix(call(4, [10], [11]), 0, 3)];
    expect(rows(all).map(({ token_ids, mask, turns: own }) => [[...token_ids], [...mask], [...own]])).toEqual([
      [
        [1, 2, 3, 4, 5, 8, 9],
        [0, 1, 1, 0, 1, 0, 1],
        [0, 1, 3],
      ],
      [[1, 2, 6, 7], [0, 0, 0, 1], [2]],
      [[1, 2, 3, 10, 11], [0, 0, 0, 0, 1], [4]],
    ]);
    // A fork that keeps all tokens of its parent is not a prefix break; a prompt that drops some, or has no parent, is one.
    expect(branchesOf(all).prefixBreaks).toBe(1);
    expect(branchesOf([call(0, [1], [2]), call(1, [3], [4])]).prefixBreaks).toBe(1);
  });
});

it('has no tokens for a turn of an earlier schema version', () => {
  const v1 = publishedSchemas.find(({ name, version }) => name === 'TurnRecorded' && version === 1)!;
  const value = encoderOf(v1)(turnEvents([call(0, [1], [2])])[0]!);
  const read = codec.decode(value);
  if (!read.ok || read.value.plain === undefined) throw new Error('the record is not plain');
  expect(rows([tokensIn(read.value.plain)])).toMatchObject([{ trainable: false, why_not: 'no_prompt_ids', token_ids: new Int32Array(0) }]);
});

describe('a row that is not to be trained on', () => {
  const whole = call(0, [1], [2]);
  const cases: readonly { readonly why_not: string; readonly turns: readonly TokenTurn[]; readonly purpose?: string }[] = [
    { why_not: 'not_for_training', turns: [whole], purpose: 'eval' },
    { why_not: 'no_token_ids', turns: [{ ...whole, token_ids: NO_WHOLES }] },
    { why_not: 'truncated', turns: [{ ...whole, token_ids: NO_WHOLES, truncated: true }] },
    { why_not: 'no_prompt_ids', turns: [{ ...whole, prompt_ids: NO_WHOLES }] },
    { why_not: 'truncated', turns: [{ ...whole, prompt_ids: NO_WHOLES, truncated: true }] },
    { why_not: 'parent_missing', turns: [prefix(whole, 7, 1)] },
    { why_not: 'parent_missing', turns: [prefix(whole, -1, 1)] },
    { why_not: 'prompt_differs', turns: [{ ...whole, prompt_sha256: 'other' }] },
    { why_not: 'prompt_differs', turns: [whole, { ...prefix(call(1, [3], [4]), 0, 2), prompt_sha256: 'other' }] },
    { why_not: 'no_logprobs', turns: [{ ...whole, logprobs: NO_FLOATS }] },
    { why_not: 'mixed_logprobs', turns: [whole, { ...prefix(call(1, [3], [4]), 0, 2), logprobs_kind: 'processed' }] },
    { why_not: 'nothing_sampled', turns: [call(0, [1], [])] },
    { why_not: 'nothing_sampled', turns: [{ ...whole, loss_mask: packed(Int32Array.of(0)) }] },
  ];
  it.each(cases)('says $why_not', ({ why_not, turns, purpose = 'train' }) => {
    const made = rows(turns, { purpose });
    expect(made.map((row) => [row.trainable, row.why_not])).toEqual([[false, why_not]]);
  });

  it('is only the branch that keeps more tokens than its parent has', () => {
    const made = rows([whole, prefix(call(1, [3], [4]), 0, 3), prefix(call(2, [3], [4]), 1, 5), call(3, [5], [6])]);
    expect(made.map(({ why_not, turns }) => [why_not, [...turns]])).toEqual([
      ['', [0]],
      ['parent_missing', [1, 2]],
      ['', [3]],
    ]);
    expect(made[1]).toMatchObject({ token_ids: new Int32Array(0), prompt_len: 0, version_spans: [] });
  });

  it('has no logprobs unless all are known, and no temperature unless all turns have the same', () => {
    const [row] = rows([whole, { ...prefix(call(1, [3], [4]), 0, 2), logprobs: NO_FLOATS }]);
    expect(row?.logprobs).toEqual(new Float32Array(0));
    const at = (temperature: unknown): string => JSON.stringify({ temperature });
    const temperatures = (...texts: readonly string[]): number | undefined =>
      rows(texts.map((sampling, turn) => (turn === 0 ? { ...whole, sampling } : { ...prefix(call(1, [3], [4]), 0, 2), sampling })))[0]
        ?.temperature;
    expect(temperatures(at(1), at(1))).toBe(1);
    expect(temperatures(at(1), at(0.5))).toBeNaN();
    expect(temperatures('', '')).toBeNaN();
    expect(temperatures('null', 'null')).toBeNaN();
    expect(temperatures(at('hot'), at('hot'))).toBeNaN();
  });
});
