// What the rows bench measures: the records of a batch, and the ways from their bytes to the bytes of a response.
import { ArrowRows } from '../../consumers/common/rows/arrow.ts';
import { ndjsonOf } from '../../consumers/common/rows/ndjson.ts';
import { createCodec } from '../../schemas/codec.ts';
import { emptyTurn } from '../../schemas/rollouts/turn.ts';
import type { TurnRecorded } from '../../schemas/generated/events.ts';
import { createRandom } from '../../streams/core/random.ts';
import { BatchHash, tokensHash } from '../../streams/rows/row-hash.ts';
import { tokensIn } from '../../streams/rows/read-tokens.ts';
import { rowsOf, type TokenRow } from '../../streams/rows/row.ts';

const TEXT_CHARS = 900;

/** The values of the records of each trajectory. */
export type BatchRecords = readonly (readonly Buffer[])[];

const codec = createCodec({ late: ['TurnRecorded'] });

export interface RowSize {
  /** Tokens of a row: half of them are prompt tokens, half are sampled. */
  readonly tokens: number;
  readonly turns: number;
}

/** The values of a batch: for each trajectory the records of its turns. */
export const recordsOf = (trajectory: number, size: RowSize): readonly Buffer[] =>
  tokenTurns(trajectory, size).map((event) => codec.encode('TurnRecorded', event));

/** The turns of a trajectory; the same number makes the same tokens. */
export function tokenTurns(trajectory: number, { tokens, turns }: RowSize): readonly TurnRecorded[] {
  const next = createRandom(trajectory);
  const each = Math.floor(tokens / turns / 2);
  // Small ids are frequent, as in a text; most take two or three bytes in a record.
  const ids = (): readonly number[] => Array.from({ length: each }, () => Math.floor(Math.exp(next() * Math.log(151_936))));
  return Array.from({ length: turns }, (_, turn) => {
    const token_ids = ids();
    return {
      ...emptyTurn,
      ...{ run_id: 'rows', group_id: `q-${trajectory >> 3}`, trajectory_id: `q-${trajectory >> 3}.${trajectory & 7}`, purpose: 'train' },
      ...{ sequence: turn + 1, turn, branch_parent: turn - 1, prompt_keep: 2 * each * turn, prompt_ids: ids(), prompt_tokens: each },
      ...{ token_ids, logprobs: token_ids.map(() => Math.log(1 - next())), completion_tokens: each, logprobs_kind: 'processed' },
      ...{ policy_spans: [{ version: turn >> 2, tokens: each }], sampling: '{"temperature":1}', model: 'model', engine: 'engine/1' },
      ...{ text: 'x'.repeat(TEXT_CHARS), result: 'y'.repeat(TEXT_CHARS), result_chars: TEXT_CHARS },
    };
  });
}

export interface RowsStage {
  readonly name: string;
  /** Processes a whole batch, one trajectory at a time, and returns the size of the result, bytes. */
  readonly run: (batch: BatchRecords) => number;
}

export function* rowsFrom(batch: BatchRecords): Generator<TokenRow, void, undefined> {
  for (const [at, records] of batch.entries()) {
    const read = records.map((value) => {
      const decoded = codec.decode(value);
      if (!decoded.ok || decoded.value.plain === undefined) throw new Error('a record of the bench cannot be read');
      return tokensIn(decoded.value.plain);
    });
    const ids = { trajectoryId: `q-${at >> 3}.${at & 7}`, attempt: 0, groupId: `q-${at >> 3}`, purpose: 'train' };
    yield* rowsOf({ ...ids, reward: 1, advantage: 0.5, turns: read }, at);
  }
}

export const sizeOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0);

function arrow(batch: BatchRecords): number {
  const stream = new ArrowRows();
  let bytes = 0;
  for (const row of rowsFrom(batch)) bytes += sizeOf(stream.add(row));
  return bytes + sizeOf(stream.end());
}

function ndjson(batch: BatchRecords): number {
  let bytes = 0;
  for (const row of rowsFrom(batch)) bytes += ndjsonOf(row).length;
  return bytes;
}

function hashed(batch: BatchRecords): number {
  const hash = new BatchHash();
  for (const row of rowsFrom(batch)) hash.add(row, tokensHash(row));
  return hash.digest().length;
}

export const stages: readonly RowsStage[] = [
  { name: 'records to Arrow', run: arrow },
  { name: 'records to NDJSON', run: ndjson },
  { name: 'records to the hash of the batch', run: hashed },
];
