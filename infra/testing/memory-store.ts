// An in-memory store for unit tests of the sink: tables as arrays of rows; insert tokens that deduplicate as in ClickHouse, or are not
// remembered; inserts of two parts; injected faults. Of SQL it supports only creating and dropping copies of tables.
import type { Holdings, Top } from '../../consumers/warehouse/holdings.ts';
import type { PartitionBounds } from '../../consumers/warehouse/bundle.ts';
import { placeOf } from '../../consumers/warehouse/rows/cells.ts';
import { tablesOf } from '../../consumers/warehouse/rows/tables.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { rowsOf } from '../../streams/core/columns.ts';
import type { InsertAs, Row, Rows, Store } from '../../streams/core/ports.ts';

const numberIn = (row: Row, column: string): number => Number(row[column]);

const isFirstPart = (row: Row): boolean => numberIn(row, '_offset') % 2 === 0;

const isWithin = (row: Row, topic: string, bounds: readonly PartitionBounds[]): boolean =>
  row['_topic'] === topic &&
  bounds.some(
    ({ partition, min, max }) =>
      numberIn(row, '_partition') === partition && numberIn(row, '_offset') >= min && numberIn(row, '_offset') <= max,
  );

export class MemoryStore implements Store {
  readonly database = 'memory';
  readonly tables = new Map<string, Row[]>();
  /** Every requested token in order, including repeats. */
  readonly asked: string[] = [];
  /** Rows that a table rejects, as if they violated a constraint. */
  refuses: (table: string, row: Row) => boolean = () => false;
  /** Runs before an insert takes effect; may throw or wait. */
  beforeInsert: (table: string, token: string) => Promise<void> | void = () => undefined;
  /** Runs after an insert took effect, before the response; may throw or wait. */
  afterInsert: (table: string, token: string) => Promise<void> | void = () => undefined;
  /** Makes an insert fail between its parts: rows of even offsets are stored, the others are not. */
  tears: (table: string, token: string) => boolean = () => false;
  /** False for tables without deduplication. */
  remembersTokens = true;
  readonly #tokens = new Set<string>();
  readonly #underWay = new Set<{ readonly id: string; ended: boolean }>();
  readonly #copies = new Map<string, string>();

  rows(table: string): readonly Row[] {
    return this.tables.get(table) ?? [];
  }

  /** Names of the existing copies. */
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

  async insert(table: string, given: Rows, as: string | InsertAs): Promise<void> {
    const rows = rowsOf(given);
    const { token, id = '', beforeSending }: InsertAs = typeof as === 'string' ? { token: as } : as;
    const original = this.#copies.get(table);
    if (rows.some((row) => this.refuses(original ?? table, row))) {
      throw new PlatformError('STORE_REFUSED', `inserting into ${table}: a constraint is violated`, { context: { clickhouseCode: 469 } });
    }
    if (original !== undefined) return;
    beforeSending?.();
    this.asked.push(token);
    const insert = { id, ended: false };
    this.#underWay.add(insert);
    try {
      await this.beforeInsert(table, token);
      if (insert.ended) throw new PlatformError('STORE_UNAVAILABLE', `inserting into ${table}: the query was cancelled`);
      const torn = this.tears(table, token);
      this.#put(table, torn ? rows.filter(isFirstPart) : rows, token);
      if (torn) throw new PlatformError('STORE_UNAVAILABLE', `inserting into ${table}: the connection is gone`);
    } finally {
      this.#underWay.delete(insert);
    }
    await this.afterInsert(table, token);
  }

  /** The counterpart of `createHoldings` for this store. */
  holdings(): Holdings {
    let ids = 0;
    return {
      idOf: (table, partitions) => `sink.${table}.${partitions.join('-')}.${(ids += 1)}`,
      endInserts: async (tables, partitions) => {
        for (const insert of this.#underWay) {
          const [, table = '', of = ''] = insert.id.split('.');
          insert.ended ||= tables.some((name) => name === table) && of.split('-').some((one) => partitions.includes(Number(one)));
        }
      },
      tops: async (topic, from) => {
        const tops = new Map<number, Top>();
        for (const row of tablesOf(topic).flatMap((table) => this.rows(table))) {
          const [partition, offset] = [numberIn(row, '_partition'), numberIn(row, '_offset')];
          const least = Math.max(from.get(partition) ?? Infinity, tops.get(partition)?.offset ?? 0);
          if (row['_topic'] === topic && offset >= least) tops.set(partition, { offset, timestampMs: numberIn(row, '_timestamp') });
        }
        return tops;
      },
      times: async (topic, partition, from) => {
        const within = tablesOf(topic)
          .flatMap((table) => this.rows(table))
          .filter((row) => isWithin(row, topic, [{ partition, min: from, max: Infinity }]));
        return new Map(within.map((row) => [numberIn(row, '_offset'), numberIn(row, '_timestamp')]));
      },
      held: async (table, topic, bounds) => {
        const held = new Map<string, number>();
        for (const row of this.rows(table).filter((one) => isWithin(one, topic, bounds))) {
          const place = placeOf(numberIn(row, '_partition'), numberIn(row, '_offset'));
          held.set(place, (held.get(place) ?? 0) + 1);
        }
        return held;
      },
      erase: async (table, topic, bounds) => {
        this.tables.set(
          table,
          this.rows(table).filter((row) => !isWithin(row, topic, bounds)),
        );
      },
    };
  }

  /** Each part is stored and deduplicated independently. */
  #put(table: string, rows: readonly Row[], token: string): void {
    const known = (row: Row): boolean => this.remembersTokens && this.#tokens.has(`${table}/${token}/${isFirstPart(row)}`);
    const fresh = rows.filter((row) => !known(row));
    for (const row of fresh) this.#tokens.add(`${table}/${token}/${isFirstPart(row)}`);
    this.tables.set(table, [...this.rows(table), ...fresh]);
  }

  async close(): Promise<void> {
    return undefined;
  }
}
