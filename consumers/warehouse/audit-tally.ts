// Sums the counts and checksums of both sides, slice by slice. A checksum is the XOR and the sum of the row hashes, so the order of slices
// does not matter and another process can continue an audit.
import type { TableName } from './rows/tables.ts';

/** Rows of one side. Checksums are unsigned 64-bit numbers as decimal text. */
export interface SideSum {
  readonly rows: number;
  readonly xored: string;
  readonly summed: string;
}

export interface Tally {
  readonly topic: string;
  readonly partition: number;
  readonly table: TableName;
  readonly log: SideSum;
  readonly stored: SideSum;
}

export const NO_ROWS: SideSum = { rows: 0, xored: '0', summed: '0' };

export function addSums(a: SideSum, b: SideSum): SideSum {
  return {
    rows: a.rows + b.rows,
    xored: (BigInt(a.xored) ^ BigInt(b.xored)).toString(),
    summed: BigInt.asUintN(64, BigInt(a.summed) + BigInt(b.summed)).toString(),
  };
}

const hex = (value: string): string => BigInt(value).toString(16).toUpperCase().padStart(16, '0');

export const checksumOf = ({ xored, summed }: SideSum): string => `${hex(xored)}-${hex(summed)}`;

export const isEqual = ({ log, stored }: Pick<Tally, 'log' | 'stored'>): boolean =>
  log.rows === stored.rows && log.xored === stored.xored && log.summed === stored.summed;

const keyOf = ({ topic, table, partition }: Tally): string => `${topic}/${table}/${partition}`;

/** All slices of an audit so far. */
export class Tallies {
  readonly #tallies = new Map<string, Tally>();

  constructor(tallies: readonly Tally[] = []) {
    for (const tally of tallies) this.add(tally);
  }

  /** Replaces the current value. */
  put(tally: Tally): void {
    this.#tallies.set(keyOf(tally), tally);
  }

  add(tally: Tally): void {
    const known = this.#tallies.get(keyOf(tally));
    this.put(known === undefined ? tally : { ...known, log: addSums(known.log, tally.log), stored: addSums(known.stored, tally.stored) });
  }

  all(): readonly Tally[] {
    return [...this.#tallies.values()];
  }
}
