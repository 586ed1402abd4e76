// The `local` tools: a client of ASearcher's retrieval server over HTTP. POST /retrieve {queries, topk, return_scores} returns {"result":
// [[{contents, url}, …]]}; POST /access {urls} returns {"result": [{contents, url} or null]}.
import type { Tool, ToolResult } from '../../streams/core/agents.ts';
import { createCallClock, type CallClock } from '../lifecycle/call-clock.ts';
import { createLimiter, type Limiter } from '../../streams/core/limiter.ts';
import { ask } from './ask.ts';
import { cleanQuery, failed, found, page, timed, type Doc } from './results.ts';

export interface RetrievalOptions {
  /** Base URL, without the last path segment. */
  readonly url: string;
  readonly topK: number;
  readonly searchConcurrency: number;
  readonly accessConcurrency: number;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly random: () => number;
}

const MAX_ANSWER_BYTES = 64 * 2 ** 20;

function resultOf(text: string): readonly unknown[] | undefined {
  try {
    const { result } = JSON.parse(text) as { result?: unknown };
    return Array.isArray(result) ? (result as unknown[]) : undefined;
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A document in the server's format, or wrapped with its score. */
function docOf(value: unknown): Doc | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  if (typeof fields['document'] === 'object') return docOf(fields['document']);
  const text = textOf(fields['contents']) || textOf(fields['page']) || textOf(fields['text']);
  const [first = ''] = text.split('\n');
  const url = textOf(fields['url']);
  return { url, title: textOf(fields['title']) || first.replace(/^["#\s]+|["\s]+$/g, '').slice(0, 200) || url, text };
}

const bad = failed('error', 'bad_answer', 'The retrieval server answered with something that is no result.');

/** One call of a tool. */
interface RetrievalCall {
  readonly signal: AbortSignal;
  readonly clock: CallClock;
  readonly limiter: Limiter;
}

/** Search and access over a retrieval server. Sends nothing yet. */
export function createRetrievalTools(options: RetrievalOptions): readonly Tool[] {
  const base = options.url.replace(/\/+$/, '');

  async function post(path: string, body: object, { signal, clock, limiter }: RetrievalCall): Promise<readonly unknown[] | ToolResult> {
    const leave = await clock.queued(limiter.enter(signal));
    if (leave === undefined) return failed('timeout', 'aborted', 'The call was stopped.');
    try {
      const { timeoutMs, retries, random } = options;
      const asked = await ask(`${base}/${path}`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
        ...{ timeoutMs, retries, random, signal, clock, maxBytes: MAX_ANSWER_BYTES },
      });
      if (!asked.ok) return failed(asked.status, asked.errorType, `The retrieval server failed: ${asked.message}.`);
      return resultOf(asked.text) ?? bad;
    } finally {
      leave();
    }
  }

  async function search(raw: string, call: RetrievalCall): Promise<ToolResult> {
    const query = cleanQuery(raw);
    if (query === undefined) return found([]);
    const result = await post('retrieve', { queries: [query], topk: options.topK, return_scores: false }, call);
    if ('status' in result) return result;
    const [docs] = result;
    if (!Array.isArray(docs)) return bad;
    return found((docs as unknown[]).flatMap((doc) => docOf(doc) ?? []));
  }

  async function access(raw: string, call: RetrievalCall): Promise<ToolResult> {
    const url = raw.trim();
    const result = await post('access', { urls: [url] }, call);
    if ('status' in result) return result;
    const [first] = result;
    const doc = typeof first === 'string' ? { url, title: url, text: first } : docOf(first);
    if (doc === undefined) return failed('error', 'not_found', `There is no page at ${url.slice(0, 200)}.`);
    return page({ ...doc, url: doc.url === '' ? url : doc.url });
  }

  const tool = (name: Tool['name'], call: typeof search, concurrency: number): Tool => {
    const limiter = createLimiter(concurrency);
    return {
      name,
      async call(raw, signal) {
        const clock = createCallClock();
        return timed(await call(raw, { signal, clock, limiter }), clock);
      },
    };
  };
  return [tool('search', search, options.searchConcurrency), tool('access', access, options.accessConcurrency)];
}
