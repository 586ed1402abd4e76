// A store in memory for unit tests of the sink: tables as arrays of rows, tokens that deduplicate as ClickHouse's do,
// and faults on demand. It knows no SQL beyond creating and dropping copies of tables.
import { PlatformError } from '../../streams/core/errors.ts';
import { rowsOf } from '../../streams/core/columns.ts';
import type { Row, Rows, Store } from '../../streams/core/ports.ts';

export class MemoryStore implements Store {
  readonly database = 'memory';
  readonly tables = new Map<string, Row[]>();
  /** Every token that was asked for, in order, repeated or not. */
  readonly asked: string[] = [];
  /** Rows that a table refuses, as a violated constraint. */
  refuses: (table: string, row: Row) => boolean = () => false;
  /** Runs before an insert takes effect; may throw or wait. */
  beforeInsert: (table: string, token: string) => Promise<void> | void = () => undefined;
  /** Runs after an insert took effect and before its answer; may throw or wait. */
  afterInsert: (table: string, token: string) => Promise<void> | void = () => undefined;
  readonly #tokens = new Set<string>();
  readonly #copies = new Map<string, string>();

  rows(table: string): readonly Row[] {
    return this.tables.get(table) ?? [];
  }

  /** Names of the copies that are there now. */
  copies(): readonly string[] {
    return [...this.#copies.keys()];
  }

  async ping(): Promise<boolean> {
    return true;
  }

  async query<T extends object = Row>(): Promise<readonly T[]> {
    return [];
  }

  async stream(): Promise<AsyncIterable<Buffer>> {
    throw new Error('the store in memory does not stream');
  }

  async command(sql: string): Promise<void> {
    const created = /^create table if not exists (\w+) as (\w+) engine = Null$/.exec(sql);
    const dropped = /^drop table if exists (\w+)$/.exec(sql);
    if (created !== null) this.#copies.set(created[1] ?? '', created[2] ?? '');
    else if (dropped !== null) this.#copies.delete(dropped[1] ?? '');
    else throw new Error(`the store in memory does not know ${sql}`);
  }

  async insert(table: string, given: Rows, token: string): Promise<void> {
    const rows = rowsOf(given);
    const original = this.#copies.get(table);
    if (rows.some((row) => this.refuses(original ?? table, row))) {
      throw new PlatformError('STORE_REFUSED', `inserting into ${table}: a constraint is violated`, { context: { clickhouseCode: 469 } });
    }
    if (original !== undefined) return;
    this.asked.push(token);
    await this.beforeInsert(table, token);
    if (!this.#tokens.has(`${table}/${token}`)) {
      this.#tokens.add(`${table}/${token}`);
      const known = this.tables.get(table);
      if (known === undefined) this.tables.set(table, [...rows]);
      else known.push(...rows);
    }
    await this.afterInsert(table, token);
  }

  async close(): Promise<void> {
    return undefined;
  }
}
