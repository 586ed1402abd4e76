// Sends requests, retries idempotent ones, and turns error responses into exceptions.
import { ConnectionFailed, errorOf } from './errors.ts';

export interface Call {
  readonly method?: 'GET' | 'POST';
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Instead of `body`. */
  readonly lines?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** False: two executions differ from one in their effect, so the request is repeated only after a 429. */
  readonly idempotent?: boolean;
  readonly signal?: AbortSignal;
}

export interface TransportOptions {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly retries: number;
  readonly fetch: typeof fetch;
  /** Waits between two attempts. */
  readonly sleep: (ms: number) => Promise<void>;
}

const PASSING: ReadonlySet<number> = new Set([408, 502, 503, 504]);
const LONGEST_MS = 10_000;

/** A path below /v1. Ids may contain slashes; the colon before a verb is not escaped. */
export const pathOf = (...parts: readonly string[]): string =>
  `/v1/${parts.map((part) => encodeURIComponent(part).replaceAll('%3A', ':')).join('/')}`;

export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** Resolves with a response that is not an error. Its body may still be arriving. */
  async send(path: string, call: Call = {}): Promise<Response> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.#once(path, call);
      if (answer instanceof Response && answer.ok) return answer;
      const pauseMs = attempt < this.#options.retries ? pauseOf(answer, call, attempt) : undefined;
      if (pauseMs === undefined) throw answer instanceof Response ? await errorOf(answer) : answer;
      if (answer instanceof Response) await answer.body?.cancel();
      await this.#options.sleep(pauseMs);
    }
  }

  async json<T>(path: string, call: Call = {}): Promise<T> {
    return (await (await this.send(path, call)).json()) as T;
  }

  sleep(ms: number): Promise<void> {
    return this.#options.sleep(ms);
  }

  async #once(path: string, call: Call): Promise<Response | ConnectionFailed> {
    const { method = 'GET', signal } = call;
    const { url, fetch } = this.#options;
    try {
      return await fetch(new URL(path + queryOf(call.query), url), {
        ...{ method, headers: { ...this.#key(), ...call.headers, ...contentOf(call).headers } },
        ...contentOf(call).parts,
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (cause) {
      signal?.throwIfAborted();
      return new ConnectionFailed(`${method} ${new URL(path, url).href}`, cause);
    }
  }

  #key(): Readonly<Record<string, string>> {
    return this.#options.apiKey === undefined ? {} : { authorization: `Bearer ${this.#options.apiKey}` };
  }
}

interface Content {
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: { readonly body?: string };
}

function contentOf({ body, lines }: Call): Content {
  if (lines !== undefined) return { headers: { 'content-type': 'application/x-ndjson' }, parts: { body: lines } };
  if (body === undefined) return { headers: {}, parts: {} };
  return { headers: { 'content-type': 'application/json' }, parts: { body: JSON.stringify(body) } };
}

function queryOf(query: Readonly<Record<string, unknown>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()}`;
}

/** Undefined: do not retry. */
function pauseOf(answer: Response | ConnectionFailed, { idempotent = true }: Call, attempt: number): number | undefined {
  const growing = Math.min(LONGEST_MS, 250 * 2 ** attempt) * (0.5 + Math.random() / 2);
  if (!(answer instanceof Response)) return idempotent ? growing : undefined;
  if (answer.status !== 429 && !(idempotent && PASSING.has(answer.status))) return undefined;
  return Math.max(growing, 1_000 * Number(answer.headers.get('retry-after') ?? 0) || 0);
}
