// Lists of the API and SQL statements. Requests are sent only when results are read.
import { pathOf, type Transport } from './transport.ts';

interface Page<Row> {
  readonly items: readonly Row[];
  readonly next_cursor: string | null;
}

const PAGE = 1_000;

/** A list that is requested page by page during iteration. */
export class Listing<Row> implements AsyncIterable<Row> {
  readonly #transport: Transport;
  readonly #path: string;
  readonly #query: Readonly<Record<string, unknown>>;

  constructor(transport: Transport, path: string, query: Readonly<Record<string, unknown>>) {
    this.#transport = transport;
    this.#path = path;
    this.#query = { limit: PAGE, ...query };
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Row> {
    let cursor: string | null = null;
    do {
      const page: Page<Row> = await this.#read({ cursor: cursor ?? undefined });
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** All rows. */
  async rows(): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for await (const row of this) rows.push(row);
    return rows;
  }

  /** The first rows. */
  async head(count = 20): Promise<readonly Row[]> {
    return (await this.#read({ limit: count })).items;
  }

  #read(more: Readonly<Record<string, unknown>>): Promise<Page<Row>> {
    return this.#transport.json(this.#path, { query: { ...this.#query, ...more } });
  }
}

/** A SELECT statement, which runs each time that its result is read. */
export class Query<Row> {
  readonly #transport: Transport;
  readonly #query: string;
  readonly #params: Readonly<Record<string, unknown>>;

  constructor(transport: Transport, query: string, params: Readonly<Record<string, unknown>>) {
    this.#transport = transport;
    this.#query = query;
    this.#params = params;
  }

  async rows(): Promise<readonly Row[]> {
    const body = { query: this.#query, params: this.#params, format: 'JSON' };
    return (await this.#transport.json<{ readonly data: readonly Row[] }>(pathOf('sql'), { method: 'POST', body })).data;
  }
}
