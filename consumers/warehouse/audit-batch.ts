// Buffers rows of several tables on their way to the scratch tables. While some rows are inserted, the log is read and more rows are built;
// pending and waiting rows are bounded in number and bytes, and a failed insert makes the next call fail.
import type { Row } from '../../streams/core/ports.ts';
import type { Scratch } from './audit-scratch.ts';
import { PackedRows } from './rows/packed-rows.ts';
import type { TableName } from './rows/tables.ts';

const BATCH_ROWS = 8_000;
const BATCH_BYTES = 12_000_000;
/** Approximate limit of waiting bytes over all tables. */
const WAITING_BYTES = 32_000_000;
const INSERTS_AT_ONCE = 2;

interface WaitingRows {
  readonly packed: PackedRows;
  /** Rows that do not fit the columns of the others. */
  readonly odd: Row[];
  bytes: number;
}

const isDue = ({ packed, odd, bytes }: WaitingRows): boolean => packed.length + odd.length >= BATCH_ROWS || bytes >= BATCH_BYTES;

export class RowBatch {
  readonly #scratch: Scratch;
  readonly #waiting = new Map<TableName, WaitingRows>();
  readonly #underWay = new Set<Promise<void>>();
  #bytes = 0;
  #failed: { readonly error: unknown } | undefined;

  constructor(scratch: Scratch) {
    this.#scratch = scratch;
  }

  add(table: TableName, row: Row, bytes: number): void {
    let waiting = this.#waiting.get(table);
    if (waiting === undefined) {
      waiting = { packed: new PackedRows(), odd: [], bytes: 0 };
      this.#waiting.set(table, waiting);
    }
    if (!waiting.packed.add(row)) waiting.odd.push(row);
    waiting.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Inserts full batches; resolves when more rows may be added. */
  async drain(): Promise<void> {
    const all = this.#bytes >= WAITING_BYTES;
    for (const [table, waiting] of this.#waiting) if (all || isDue(waiting)) await this.#send(table);
    this.#assertWell();
  }

  /** Resolves when everything is inserted. */
  async finish(): Promise<void> {
    for (const table of this.#waiting.keys()) await this.#send(table);
    await Promise.all(this.#underWay);
    this.#assertWell();
  }

  /** Resolves when no insert is pending, failed or not. */
  async drained(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #send(table: TableName): Promise<void> {
    while (this.#underWay.size >= INSERTS_AT_ONCE) await Promise.race(this.#underWay);
    const waiting = this.#waiting.get(table);
    if (waiting === undefined) return;
    this.#waiting.delete(table);
    this.#bytes -= waiting.bytes;
    const insert = this.#insert(table, waiting).catch((error: unknown) => {
      this.#failed ??= { error };
    });
    this.#underWay.add(insert);
    void insert.then(() => this.#underWay.delete(insert));
  }

  async #insert(table: TableName, { packed, odd }: WaitingRows): Promise<void> {
    for (const rows of [packed, odd]) if (rows.length > 0) await this.#scratch.add(table, rows);
  }

  #assertWell(): void {
    if (this.#failed !== undefined) throw this.#failed.error;
  }
}
