// Rows of attempts before they are part of a batch. A batch adds only the row number, the reward, and the advantage, so recently used rows
// are cached: a batch is read from the log once to compute its hash, and not again to send it.
import { LRUCache } from 'lru-cache';
import { tokensHash } from '../../../streams/rows/row-hash.ts';
import { rowsOf, type TokenRow } from '../../../streams/rows/row.ts';
import { ndjsonBytes } from './ndjson-size.ts';
import { keyOfAttempt, type ReadAttempt, type WantedAttempt } from './read-attempts.ts';

interface AttemptRow {
  readonly row: TokenRow;
  /** SHA-256 of its tokens. */
  readonly hash: Buffer;
  /** Size of its NDJSON line, without the digits of its number, reward, and advantage. */
  readonly lineBytes: number;
}

export type AttemptRows = readonly AttemptRow[];

/** Digits of the row number, the reward, and the advantage while they are 0, before a batch sets them. */
const PLACEHOLDERS = 3;

export function attemptRows({ wanted, purpose, turns }: ReadAttempt): AttemptRows {
  const { trajectory_id: trajectoryId, attempt, group_id: groupId } = wanted;
  const rows = rowsOf({ trajectoryId, attempt, groupId, purpose, reward: 0, advantage: 0, turns }, 0);
  return Array.from(rows, (row) => ({ row, hash: tokensHash(row), lineBytes: ndjsonBytes({ ...row, row: 0 }) - PLACEHOLDERS }));
}

export interface Decided {
  readonly reward: number;
  readonly advantage: number;
}

/** Turns a row of an attempt into row `number` of a batch. */
export const placedRow = ({ row }: AttemptRow, number: number, { reward, advantage }: Decided): TokenRow => ({
  ...row,
  row: number,
  reward,
  advantage,
});

/** Size of its NDJSON line in a batch. */
export const lineBytesOf = ({ lineBytes }: AttemptRow, { row, reward, advantage }: TokenRow): number =>
  lineBytes + [row, reward, advantage].reduce((sum, value) => sum + JSON.stringify(value).length, 0);

const BYTES_OF_TOKEN = 9;
const BESIDE_TOKENS = 1_000;

const weightOf = (rows: AttemptRows): number =>
  rows.reduce((sum, { row }) => sum + BYTES_OF_TOKEN * row.token_ids.length + BESIDE_TOKENS, BESIDE_TOKENS);

/** Keeps the most recently used attempts, up to `mostBytes`. */
export function createAttemptCache(mostBytes: number) {
  const cache = new LRUCache<string, AttemptRows>({ maxSize: Math.max(1, mostBytes), sizeCalculation: weightOf });
  return {
    get: (attempt: WantedAttempt): AttemptRows | undefined => cache.get(keyOfAttempt(attempt)),
    put(attempt: WantedAttempt, rows: AttemptRows): void {
      cache.set(keyOfAttempt(attempt), rows);
    },
    forget(attempt: WantedAttempt): void {
      cache.delete(keyOfAttempt(attempt));
    },
  };
}
