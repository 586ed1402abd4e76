import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { deferred } from '../../streams/core/waiting.ts';
import { factbookSource } from '../cli/retrieval/retrieval.ts';
import { rawRequest } from '../testing/raw-request.ts';
import { createRetrievalTools } from './retrieval-client.ts';
import { startRetrievalServer, type RetrievalServer } from './retrieval-server.ts';

vi.setConfig({ testTimeout: 600_000 });

let server: RetrievalServer;
beforeAll(async () => {
  server = await startRetrievalServer(factbookSource, { host: '127.0.0.1', port: 0 });
});
afterAll(() => server.close());

const post = (path: string, body: unknown) =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const { signal } = new AbortController();
const tools = (url = server.url) =>
  createRetrievalTools({ url, topK: 3, searchConcurrency: 2, accessConcurrency: 1, timeoutMs: 60_000, retries: 0, random: () => 0.5 });

describe('the retrieval server', () => {
  it("answers ASearcher's client byte for byte", async () => {
    const response = await post('/retrieve', { queries: ['capital Vienna', ''], topk: 2, return_scores: false });
    expect(response.headers.get('content-type')).toBe('application/json');
    const text = await response.text();
    expect(text).toMatch(/^\{"result":\[\[\{"contents":"\\"Austria\\"\\n[^{}]*","url":"factbook:\/\/europe\/austria"\},\{"contents":/);
    expect((JSON.parse(text) as { result: unknown[][] }).result.map((list) => list.length)).toEqual([2, 0]);
  });
  it('wraps documents when scores are asked for', async () => {
    const { result } = (await (await post('/retrieve', { queries: ['capital Vienna'], return_scores: true })).json()) as {
      result: { document: { url: string }; score: number }[][];
    };
    expect(result[0]).toHaveLength(3);
    expect(result[0]![0]).toMatchObject({ document: { url: 'factbook://europe/austria' }, score: 1 });
  });
  it('returns pages, and null for unknown URLs', async () => {
    const text = await (await post('/access', { urls: ['factbook://europe/austria', 'https://example.org'] })).text();
    expect(text).toMatch(/^\{"result":\[\{"contents":"# Austria\\n.*","url":"factbook:\/\/europe\/austria"\},null\]\}$/);
  });
  it.each([
    ['/retrieve', '{', 422],
    ['/retrieve', '[]', 422],
    ['/retrieve', { queries: 'one' }, 422],
    ['/retrieve', { queries: ['a'], topk: 0 }, 422],
    ['/access', { urls: [1] }, 422],
    ['/access', 'x'.repeat(2 ** 20 + 1), 422],
    ['/nothing', {}, 404],
  ])('refuses %s %j', async (path, body, status) => {
    expect((await post(path, body)).status).toBe(status);
  });
  it.each([{ 'sec-fetch-site': 'same-site' }, { origin: 'http://127.0.0.1:1' }, { host: 'evil.example' }])(
    'refuses a page of another origin: %j',
    async (headers) => {
      const body = JSON.stringify({ queries: ['capital Vienna'] });
      const answer = await rawRequest({ port: Number(new URL(server.url).port), path: '/retrieve', method: 'POST', headers, body });
      expect(answer.status).toBe(403);
      expect(answer.text).not.toContain('Austria');
    },
  );
});

describe('the local tools', () => {
  it('search and read through it', async () => {
    const [search, access] = tools();
    const found = await search!.call('capital Vienna', signal);
    expect(found.items[0]).toEqual({ url: 'factbook://europe/austria', title: 'Austria' });
    expect(found.items).toHaveLength(3);
    expect(await access!.call('factbook://europe/austria', signal)).toMatchObject({ status: 'ok', items: [{ title: 'Austria' }] });
    expect(await access!.call('factbook://europe/atlantis', signal)).toMatchObject({ status: 'error', errorType: 'not_found' });
    expect(await search!.call(' ', signal)).toMatchObject({ status: 'ok', items: [] });
  });
  it('return an error when there is no server', async () => {
    const gone = await startRetrievalServer(factbookSource, { host: '127.0.0.1', port: 0 });
    await gone.close();
    const [search] = tools(gone.url);
    expect(await search!.call('Vienna', signal)).toMatchObject({ status: 'error', errorType: 'connection_failed' });
    expect(await search!.call('Vienna', AbortSignal.abort())).toMatchObject({ status: 'timeout', errorType: 'aborted' });
  });
  it('limit searches and page reads apart from each other', { timeout: 20_000 }, async () => {
    const full = deferred();
    const running = { search: 0, access: 0 };
    const most = { ...running };
    const counted = async <T>(name: 'search' | 'access', answer: T): Promise<T> => {
      running[name] += 1;
      most[name] = Math.max(most[name], running[name]);
      if (running.search + running.access === 3) full.resolve();
      await full.promise;
      running[name] -= 1;
      return answer;
    };
    const source = { retrieve: () => counted('search', []), access: () => counted('access', undefined) };
    const slow = await startRetrievalServer(source, { host: '127.0.0.1', port: 0 });
    const [search, access] = tools(slow.url);
    await Promise.all([
      ...[1, 2, 3].map(() => search!.call('Vienna', signal)),
      ...[1, 2].map(() => access!.call('factbook://europe/austria', signal)),
    ]);
    expect(most).toEqual({ search: 2, access: 1 });
    await slow.close();
  });
});
