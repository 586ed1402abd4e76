// Search and access over the Internet. Guarantees: a tool never throws; a limited number of calls run at once and the others wait in order;
// pages are fetched only from public addresses; repeated arguments are answered from the cache while the entry is fresh, also after a
// restart. Failures are never cached.
import type { Tool, ToolResult } from '../../streams/core/agents.ts';
import { pause } from '../lifecycle/waiting.ts';
import { createCallClock, type CallClock } from '../lifecycle/call-clock.ts';
import { createLimiter, type Limiter } from '../../streams/core/limiter.ts';
import type { Dispatcher } from 'undici';
import { ask, type TextResponse } from './ask.ts';
import { createDiskCache, type DiskCache } from './disk-cache.ts';
import { fetchPage, parsePageUrl, type FetchFailure } from './fetch-page.ts';
import { createGuardedAgent, judgeUrl, type Resolve } from './guarded-agent.ts';
import type { WebOptions } from './options.ts';
import { readablePage } from './readable.ts';
import { cleanQuery, failed, found, page, timed, type Doc } from './results.ts';

export interface WebParts {
  readonly now: () => number;
  readonly random: () => number;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
}

export interface WebTools {
  readonly tools: readonly Tool[];
  /** Closes every connection. */
  close(): Promise<void>;
}

const MAX_ANSWER_BYTES = 16 * 2 ** 20;
const FIRST_WAIT_MS = 500;

const reasons: Readonly<Record<string, string>> = {
  private_address: 'That address is not on the public Internet.',
  timeout: 'It did not answer in time.',
};

const refusedText = (argument: string, { errorType, message }: { readonly errorType: string; readonly message: string }): string =>
  `${argument.slice(0, 200)} cannot be read: ${reasons[errorType] ?? message}`;

const judgements = {
  private: { status: 'refused', errorType: 'private_address', message: 'the address is not a public one' },
  unknown: { status: 'error', errorType: 'dns', message: 'the name has no address' },
  ended: { status: 'timeout', errorType: 'timeout', message: 'the name was not looked up in time' },
  aborted: { status: 'timeout', errorType: 'aborted', message: 'the call was stopped' },
} as const;

const isDoc = (value: unknown): value is Doc =>
  typeof value === 'object' && value !== null && 'url' in value && 'title' in value && 'text' in value;

function parseDocs(text: string): readonly Doc[] | undefined {
  try {
    const docs: unknown = JSON.parse(text);
    return Array.isArray(docs) && docs.every(isDoc) ? docs : undefined;
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The organic results in Serper's response; undefined when it is malformed. */
function readSerper(answer: string, topK: number): readonly Doc[] | undefined {
  let json: unknown;
  try {
    json = JSON.parse(answer);
  } catch {
    return undefined;
  }
  if (typeof json !== 'object' || json === null) return undefined;
  const { organic = [] } = json as { organic?: unknown };
  if (!Array.isArray(organic)) return undefined;
  return (organic as unknown[])
    .filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null)
    .map(({ link, title, snippet }) => ({ url: textOf(link), title: textOf(title), text: textOf(snippet) }))
    .filter(({ url }) => url !== '')
    .slice(0, topK);
}

class Web {
  readonly #options: WebOptions;
  readonly #parts: WebParts;
  readonly #cache: DiskCache;
  readonly #agent: ReturnType<typeof createGuardedAgent>;
  readonly #searching: Limiter;
  readonly #reading: Limiter;

  constructor(options: WebOptions, parts: WebParts) {
    this.#options = options;
    this.#parts = parts;
    this.#cache = createDiskCache({
      ...{ folder: options.cacheFolder, maxBytes: options.cacheMaxBytes, ttlMs: options.cacheTtlMs, now: parts.now },
    });
    this.#agent = createGuardedAgent({
      allowed: new Set(options.allowed),
      connectTimeoutMs: options.timeoutMs,
      ...(parts.resolve === undefined ? {} : { resolve: parts.resolve }),
    });
    this.#searching = createLimiter(options.searchConcurrency);
    this.#reading = createLimiter(options.accessConcurrency);
  }

  async search(raw: string, signal: AbortSignal): Promise<ToolResult> {
    const query = cleanQuery(raw);
    if (query === undefined) return found([]);
    const key = `serper/${this.#options.topK}/${query}`;
    return this.#cached(key, { limiter: this.#searching, signal, say: found }, (clock) => this.#askSerper(query, signal, clock));
  }

  async access(raw: string, signal: AbortSignal): Promise<ToolResult> {
    const url = parsePageUrl(raw.trim());
    if (!(url instanceof URL)) return failed(url.status, url.errorType, refusedText(raw, url));
    const { reader } = this.#options;
    const say = ([doc]: readonly Doc[], hit: boolean): ToolResult =>
      doc === undefined ? failed('error', 'empty_page', `There is no text at ${url.href.slice(0, 200)}.`) : page(doc, hit);
    return this.#cached(`${reader}/${url.href}`, { limiter: this.#reading, signal, say }, (clock) =>
      reader === 'jina' ? this.#askJina(url, signal, clock) : this.#read(url, signal, clock),
    );
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #cached(
    key: string,
    { limiter, signal, say }: { limiter: Limiter; signal: AbortSignal; say: (docs: readonly Doc[], hit: boolean) => ToolResult },
    get: (clock: CallClock) => Promise<readonly Doc[] | ToolResult>,
  ): Promise<ToolResult> {
    const known = parseDocs((await this.#cache.get(key)) ?? '');
    if (known !== undefined) return say(known, true);
    const clock = createCallClock();
    const leave = await clock.queued(limiter.enter(signal));
    if (leave === undefined) return timed(failed('timeout', 'aborted', 'The call was stopped.'), clock);
    try {
      const got = await get(clock);
      if ('status' in got) return timed(got, clock);
      await this.#cache.set(key, JSON.stringify(got));
      return timed(say(got, false), clock);
    } finally {
      leave();
    }
  }

  #ask(
    url: string,
    signal: AbortSignal,
    more: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string; dispatcher?: Dispatcher; clock: CallClock },
  ): Promise<TextResponse> {
    const { timeoutMs, retries } = this.#options;
    return ask(url, { ...more, signal, timeoutMs, retries, maxBytes: MAX_ANSWER_BYTES, random: this.#parts.random });
  }

  async #askSerper(query: string, signal: AbortSignal, clock: CallClock): Promise<readonly Doc[] | ToolResult> {
    const { serperUrl, serperApiKey, topK } = this.#options;
    const asked = await this.#ask(serperUrl, signal, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': serperApiKey },
      body: JSON.stringify({ q: query, num: topK }),
      clock,
    });
    if (!asked.ok) return failed(asked.status, asked.errorType, `The search failed: ${asked.message}.`);
    return readSerper(asked.text, topK) ?? failed('error', 'bad_answer', 'The search answered with something that is no result.');
  }

  /** Jina fetches the page: a URL with a private address, literal or resolved, is rejected before Jina is called. */
  async #askJina(url: URL, signal: AbortSignal, clock: CallClock): Promise<readonly Doc[] | ToolResult> {
    const problem = await this.#problemOf(url, signal);
    if (problem !== undefined) return failed(problem.status, problem.errorType, refusedText(url.href, problem));
    const { jinaUrl, jinaApiKey } = this.#options;
    const headers: Record<string, string> = { accept: 'application/json' };
    if (jinaApiKey !== '') headers['authorization'] = `Bearer ${jinaApiKey}`;
    const asked = await this.#ask(`${jinaUrl.replace(/\/+$/, '')}/${url.href}`, signal, { method: 'GET', headers, clock });
    if (!asked.ok) return failed(asked.status, asked.errorType, refusedText(url.href, asked));
    return [readJina(asked.text, url.href)];
  }

  /** Why Jina must not be called for a page. */
  async #problemOf(url: URL, signal: AbortSignal): Promise<Pick<FetchFailure, 'status' | 'errorType' | 'message'> | undefined> {
    const { allowed, timeoutMs } = this.#options;
    const { resolve } = this.#parts;
    const ended = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const judged = await Promise.race([
      judgeUrl(url, { allowed: new Set(allowed), ...(resolve === undefined ? {} : { resolve }) }),
      new Promise<'ended'>((done) => {
        ended.addEventListener('abort', () => {
          done('ended');
        });
        if (ended.aborted) done('ended');
      }),
    ]);
    if (judged === 'public') return undefined;
    return judged === 'ended' && signal.aborted ? judgements.aborted : judgements[judged];
  }

  async #read(url: URL, signal: AbortSignal, clock: CallClock): Promise<readonly Doc[] | ToolResult> {
    const { maxPageBytes: maxBytes, timeoutMs, maxRedirects, retries } = this.#options;
    for (let retry = 0; ; retry += 1) {
      const got = await clock.tried(() => fetchPage(url.href, { maxBytes, timeoutMs, maxRedirects }, { dispatcher: this.#agent, signal }));
      if (got.ok) {
        const { title, markdown } = readablePage(got.contentType, got.bytes, got.url);
        return [{ url: got.url, title: title === '' ? got.url : title, text: markdown }];
      }
      if (!got.again || retry >= retries || signal.aborted) return readFailure(url.href, got);
      await pause(FIRST_WAIT_MS * 2 ** retry * (0.5 + this.#parts.random() / 2), signal);
    }
  }
}

const readFailure = (url: string, failure: FetchFailure): ToolResult =>
  failed(failure.status, failure.errorType, refusedText(url, failure));

/** Jina returns JSON on request, and text when it is behind some proxies. */
function readJina(answer: string, url: string): Doc {
  try {
    const { data } = JSON.parse(answer) as { data?: { title?: unknown; content?: unknown } };
    if (typeof data?.content === 'string') return { url, title: textOf(data.title) || url, text: data.content };
  } catch {
    // the response is the text itself
  }
  return { url, title: url, text: answer };
}

/** The two tools over the Internet. */
export function createWebTools(options: WebOptions, parts: WebParts): WebTools {
  const web = new Web(options, parts);
  return {
    tools: [
      { name: 'search', call: (query, signal) => web.search(query, signal) },
      { name: 'access', call: (url, signal) => web.access(url, signal) },
    ],
    close: () => web.close(),
  };
}
