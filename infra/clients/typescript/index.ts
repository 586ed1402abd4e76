// TypeScript client for turnstream, for Node and browsers. Needs only fetch.
import { Listing, Query } from './listing.ts';
import { follow, type LiveEvent, type LiveOptions } from './live.ts';
import { Run } from './run.ts';
import type { Queries, Schemas } from './schemas.ts';
import { Transport } from './transport.ts';

export { ApiError, ConnectionFailed, TurnstreamError } from './errors.ts';
export { weights, type Weights } from './weights.ts';
export type { Batch, Committed, Lease, Prepared, Report, Restore, Trainer, TrainingRow } from './trainer.ts';
export type { Reward } from './run.ts';
export type { Queries, Schemas } from './schemas.ts';
export type { LiveEvent, LiveOptions, Listing, Query, Run };

export interface ClientOptions {
  /** Default: http://127.0.0.1:8787 */
  readonly url?: string;
  readonly apiKey?: string;
  /** Maximum retries of idempotent calls while the API is unavailable or asks to retry. Default: 5. */
  readonly retries?: number;
  readonly fetch?: typeof fetch;
  readonly sleep?: (ms: number) => Promise<void>;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class Turnstream {
  readonly #transport: Transport;

  constructor({ url = 'http://127.0.0.1:8787', apiKey, retries = 5, ...ways }: ClientOptions = {}) {
    this.#transport = new Transport({ url, apiKey, retries, fetch: ways.fetch ?? fetch, sleep: ways.sleep ?? wait });
  }

  run(id: string): Run {
    return new Run(this.#transport, id);
  }

  runs(query: Queries['listRuns'] = {}): Listing<Schemas['Run']> {
    return new Listing(this.#transport, '/v1/runs', query);
  }

  questions(query: Queries['listQuestions'] = {}): Listing<Schemas['Question']> {
    return new Listing(this.#transport, '/v1/questions', query);
  }

  evaluations(query: Queries['listEvaluations'] = {}): Listing<Schemas['Evaluation']> {
    return new Listing(this.#transport, '/v1/evaluations', query);
  }

  /** A SELECT statement that refers to each of `params` as `{name:Type}`. */
  sql<Row = Readonly<Record<string, unknown>>>(query: string, params: Readonly<Record<string, unknown>> = {}): Query<Row> {
    return new Query<Row>(this.#transport, query, params);
  }

  /** Events as they are written, from now on or from the event after an id. */
  live(options: LiveOptions = {}): AsyncGenerator<LiveEvent> {
    return follow(this.#transport, options);
  }
}
