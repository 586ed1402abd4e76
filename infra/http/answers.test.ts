import { afterEach, describe, expect, it } from 'vitest';
import { recordingMetrics } from '../testing/api.ts';
import { silentLogger } from '../testing/logger.ts';
import { createAnswerCache, type CachedAnswer } from './answer-cache.ts';
import { holds } from './answers.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const open: HttpServer[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

/** A read that counts its calls, and resolves when the test says so. */
async function counting(freshMs: number, held = false) {
  const server = await createHttpServer({
    ...{ host: '127.0.0.1', port: 0, keys: [], version: '1', logger: silentLogger, metrics: recordingMetrics(), probes: [], freshMs },
    metricsText: () => '',
    status: () => ({ state: 'live', detail: '', figures: {} }),
  });
  open.push(server);
  let release = (): void => undefined;
  const until = held ? new Promise<void>((resolve) => (release = resolve)) : Promise.resolve();
  const state = { reads: 0, value: 'a', fail: false };
  server.app.get('/v1/thing', { schema: { querystring: { type: 'object', properties: { x: {} } } } }, async () => {
    state.reads += 1;
    await until;
    if (state.fail) throw new Error('no');
    return { value: state.value.repeat(2_000) };
  });
  await server.app.ready();
  const get = (headers: Record<string, string> = {}, url = '/v1/thing') => server.app.inject({ url, headers });
  const head = (headers: Record<string, string> = {}) => server.app.inject({ method: 'HEAD', url: '/v1/thing', headers });
  return { state, get, head, release };
}

describe('an answer to a read', () => {
  it('has an ETag, and is not sent again to a client that has it', async () => {
    const { get, state } = await counting(0);
    const first = await get();
    const etag = String(first.headers['etag']);
    expect(etag).toMatch(/^W\/"[\w-]+"$/);
    expect(first.headers['cache-control']).toBe('private, no-cache');
    for (const header of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
      const again = await get({ 'if-none-match': header });
      expect({ status: again.statusCode, body: again.body, etag: again.headers['etag'] }).toEqual({ status: 304, body: '', etag });
      expect(again.headers['x-request-id']).toBeDefined();
    }
    state.value = 'b';
    const changed = await get({ 'if-none-match': etag });
    expect(changed.statusCode).toBe(200);
    expect(changed.headers['etag']).not.toBe(etag);
    expect(state.reads).toBe(6);
  });

  it('is the same in every content encoding', async () => {
    const { get } = await counting(1_000);
    const [plain, zipped, brotli, again] = [
      await get(),
      await get({ 'accept-encoding': 'gzip' }),
      await get({ 'accept-encoding': 'br' }),
      await get({ 'accept-encoding': 'gzip' }),
    ];
    expect(new Set([plain, zipped, brotli, again].map(({ headers }) => headers['etag'])).size).toBe(1);
    expect([plain, zipped, brotli].map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'gzip', 'br']);
    expect(again.rawPayload.equals(zipped.rawPayload)).toBe(true);
    expect(again.headers['content-type']).toBe(plain.headers['content-type']);
  });

  it('has the same headers for a HEAD request', async () => {
    const { get, head, state } = await counting(60_000);
    const first = await head({ 'accept-encoding': 'br' });
    expect({ status: first.statusCode, body: first.body }).toEqual({ status: 200, body: '' });
    const whole = await get({ 'accept-encoding': 'br' });
    for (const name of ['etag', 'cache-control', 'vary', 'content-type', 'content-encoding', 'content-length']) {
      expect(first.headers[name], name).toBe(whole.headers[name]);
    }
    expect(first.headers['content-length']).toBe(String(whole.rawPayload.length));
    const again = await head({ 'if-none-match': String(whole.headers['etag']) });
    expect({ status: again.statusCode, etag: again.headers['etag'] }).toEqual({ status: 304, etag: whole.headers['etag'] });
    expect(state.reads).toBe(1);
  });

  it('is read once for many simultaneous requests', async () => {
    const { get, state, release } = await counting(60_000, true);
    const asked = Array.from({ length: 20 }, () => get());
    const other = get({}, '/v1/thing?x=1');
    release();
    const answers = await Promise.all(asked);
    await other;
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers.every(({ statusCode }) => statusCode === 200)).toBe(true);
    expect(state.reads).toBe(2);
    state.value = 'b';
    const etag = String(answers[0]?.headers['etag']);
    const again = await get({ 'if-none-match': etag });
    expect({ status: again.statusCode, age: again.headers['age'] }).toEqual({ status: 304, age: '0' });
    expect(state.reads).toBe(2);
  });

  it('is not cached if it failed, and waiting requests read for themselves', async () => {
    const { get, state, release } = await counting(60_000, true);
    state.fail = true;
    const asked = [get(), get(), get()];
    release();
    expect((await Promise.all(asked)).map(({ statusCode }) => statusCode)).toEqual([500, 500, 500]);
    state.fail = false;
    expect((await get()).statusCode).toBe(200);
  });
});

describe('the cache', () => {
  const answer = (text: string): CachedAnswer => ({ body: Buffer.from(text), etag: text, contentType: 'x', coded: new Map() });
  const cacheWith = (options: { readonly freshMs: number; readonly maxBytes: number; readonly now: () => number }) => {
    const cache = createAnswerCache(options);
    return {
      begin(url: string) {
        const entry = cache.enter(url);
        if (entry.kind !== 'lead') throw new Error(`${url} is ${entry.kind}`);
        return entry.end;
      },
      kind: (url: string) => cache.enter(url).kind,
      has: (url: string) => cache.enter(url).kind === 'found',
    };
  };

  it('keeps an answer for the configured time from the start of its read', () => {
    let now = 0;
    const cache = cacheWith({ freshMs: 100, maxBytes: 1_000, now: () => now });
    const end = cache.begin('/a');
    now = 6;
    end(answer('a'));
    now = 99;
    expect(cache.has('/a')).toBe(true);
    now = 100;
    cache.begin('/a');
  });

  it.each([
    [60, 600],
    [4_000, 10_000],
  ])('when the read took %d ms, keeps its answer for %d ms', (tookMs, keptMs) => {
    let now = 0;
    const cache = cacheWith({ freshMs: 100, maxBytes: 1_000, now: () => now });
    const end = cache.begin('/a');
    now = tookMs;
    end(answer('a'));
    now = keptMs - 1;
    expect(cache.has('/a')).toBe(true);
    now = keptMs;
    cache.begin('/a');
  });

  it('gives the old answer while one request reads a new one, but for a limited time', () => {
    let now = 0;
    const cache = cacheWith({ freshMs: 100, maxBytes: 1_000, now: () => now });
    cache.begin('/a')(answer('a'));
    now = 150;
    const slow = cache.begin('/a');
    now = 499;
    expect(cache.has('/a')).toBe(true);
    now = 500;
    expect(cache.kind('/a')).toBe('wait');
    now = 600;
    slow(answer('b'));
    now = 4_649;
    expect(cache.has('/a')).toBe(true);
    now = 4_650;
    cache.begin('/a');
    expect(cache.has('/a')).toBe(true);
    now = 150 + 5 * 4_500;
    expect(cache.kind('/a')).toBe('wait');
  });

  it('limits its size, and keeps no answer that is too large', () => {
    const cache = cacheWith({ freshMs: 100, maxBytes: 100, now: () => 0 });
    for (const url of Array.from({ length: 20 }, (_, index) => `/${index}`)) cache.begin(url)(answer('x'.repeat(10)));
    expect(cache.has('/0')).toBe(false);
    expect(cache.has('/19')).toBe(true);
    cache.begin('/large')(answer('x'.repeat(50)));
    expect(cache.has('/large')).toBe(false);
  });

  it('caches nothing when freshMs is 0', () => {
    const cache = cacheWith({ freshMs: 0, maxBytes: 100, now: () => 0 });
    cache.begin('/a')(answer('a'));
    expect(cache.has('/a')).toBe(false);
  });
});

describe('If-None-Match', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['W/"b"', false],
    ['"a"', true],
    ['W/"a"', true],
    ['W/"b" , W/"a"', true],
    ['*', true],
  ])('%s', (header, held) => {
    expect(holds(header, 'W/"a"')).toBe(held);
  });
});
