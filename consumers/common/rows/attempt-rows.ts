// The rows of attempts, as they are in any batch: what a batch adds is their number, their reward, and their advantage. The newest ones are kept,
// so that a batch is not read from the log once to be hashed and again to be sent.
import { tokensHash } from '../../../streams/rows/row-hash.ts';
import { rowsOf, type TokenRow } from '../../../streams/rows/row.ts';
import { ndjsonOf } from './ndjson.ts';
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
  return Array.from(rows, (row) => ({ row, hash: tokensHash(row), lineBytes: ndjsonOf({ ...row, row: 0 }).length - PLACEHOLDERS }));
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

/** Keeps the rows of attempts that were used last. */
export class AttemptCache {
  readonly #rows = new Map<string, AttemptRows>();
  readonly #most: number;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  has(attempt: WantedAttempt): boolean {
    return this.#rows.has(keyOfAttempt(attempt));
  }

  get(attempt: WantedAttempt): AttemptRows | undefined {
    const key = keyOfAttempt(attempt);
    const found = this.#rows.get(key);
    if (found === undefined) return undefined;
    this.#rows.delete(key);
    this.#rows.set(key, found);
    return found;
  }

  put(attempt: WantedAttempt, rows: AttemptRows): void {
    if (this.has(attempt)) return;
    this.#rows.set(keyOfAttempt(attempt), rows);
    this.#bytes += weightOf(rows);
    for (const [key, old] of this.#rows) {
      if (this.#bytes <= this.#most) break;
      this.#rows.delete(key);
      this.#bytes -= weightOf(old);
    }
  }
}
