// The rows of attempts, as they are in any batch: what a batch adds is their number, their reward, and their advantage. The newest ones are kept,
// so that a batch is not read from the log once to be hashed and again to be sent.
import { LRUCache } from 'lru-cache';
import { tokensHash } from '../../../streams/rows/row-hash.ts';
import { rowsOf, type TokenRow } from '../../../streams/rows/row.ts';
import { ndjsonBytes } from './ndjson-size.ts';
import { keyOfAttempt, type ReadAttempt, type WantedAttempt } from './read-attempts.ts';

interface AttemptRow {
  readonly row: TokenRow;
  /** SHA-256 of its tokens. */
  readonly hash: Buffer;
  /** Of its line without its number, its reward, and its advantage. */
  readonly lineBytes: number;
}

export type AttemptRows = readonly AttemptRow[];

/** Digits that a line has where a batch puts its own. */
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

/** A row of an attempt as row `number` of a batch. */
export const placedRow = ({ row }: AttemptRow, number: number, { reward, advantage }: Decided): TokenRow => ({
  ...row,
  row: number,
  reward,
  advantage,
});

/** Size of its line there. */
export const lineBytesOf = ({ lineBytes }: AttemptRow, { row, reward, advantage }: TokenRow): number =>
  lineBytes + [row, reward, advantage].reduce((sum, value) => sum + JSON.stringify(value).length, 0);

const BYTES_OF_TOKEN = 9;
const BESIDE_TOKENS = 1_000;

const weightOf = (rows: AttemptRows): number =>
  rows.reduce((sum, { row }) => sum + BYTES_OF_TOKEN * row.token_ids.length + BESIDE_TOKENS, BESIDE_TOKENS);

/** Keeps the rows of attempts that were used last, up to `mostBytes`. */
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
