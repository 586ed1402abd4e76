// The webhook with a server on loopback: what is sent, how often, and where it must not go.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TextResponse } from './ask.ts';
import type { Resolve } from './guarded-agent.ts';
import { createWebhook } from './webhook.ts';

interface TakenPost {
  readonly method: string;
  readonly url: string;
  readonly type: string | undefined;
  readonly body: string;
}

const taken: TakenPost[] = [];
/** Status of each answer in turn, then 200. */
let statuses: number[] = [];
const server = createServer((request: IncomingMessage, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method = '', url = '', headers } = request;
    taken.push({ method, url, type: headers['content-type'], body: Buffer.concat(chunks).toString() });
    response.writeHead(statuses.shift() ?? 200, { location: '/elsewhere' });
    response.end('ok');
  });
});
let port = 0;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});
beforeEach(() => {
  taken.length = 0;
  statuses = [];
});

const SECRET = 'T0P/s3cret';
const toLoopback: Resolve = (_hostname, _options, done) => {
  done(null, [{ address: '127.0.0.1', family: 4 }]);
};

async function send({ host = `127.0.0.1:${port}`, allowed = [`127.0.0.1:${port}`], retries = 2 } = {}): Promise<TextResponse> {
  const webhook = createWebhook({
    ...{ url: `http://${host}/hooks/${SECRET}`, allowed, retries, timeoutMs: 5_000, random: () => 0, resolve: toLoopback },
  });
  const sent = await webhook.send({ text: 'a: alarm: ☂' }, new AbortController().signal);
  await webhook.close();
  return sent;
}

describe('a webhook', () => {
  it('sends JSON by POST', async () => {
    expect(await send()).toEqual({ ok: true, text: 'ok' });
    expect(taken).toEqual([{ method: 'POST', url: `/hooks/${SECRET}`, type: 'application/json', body: '{"text":"a: alarm: ☂"}' }]);
  });

  it('is retried while it fails, a bounded number of times', async () => {
    statuses = [503, 429];
    expect((await send()).ok).toBe(true);
    expect(taken).toHaveLength(3);
    statuses = [500, 500, 500, 500, 500];
    expect(await send()).toMatchObject({ ok: false, errorType: 'http_500' });
    expect(taken).toHaveLength(6);
  });

  it('is not retried when the server refuses, and follows no redirect', async () => {
    statuses = [404];
    expect(await send()).toMatchObject({ ok: false, errorType: 'http_404' });
    statuses = [307];
    expect(await send()).toMatchObject({ ok: false, errorType: 'http_307' });
    expect(taken.map(({ url }) => url)).toEqual([`/hooks/${SECRET}`, `/hooks/${SECRET}`]);
  });

  it('reaches no private address that is not listed, by number or by name', async () => {
    for (const host of [`127.0.0.1:${port}`, `[::ffff:127.0.0.1]:${port}`, `2130706433:${port}`, `hooks.test:${port}`]) {
      const sent = await send({ host, allowed: ['10.0.0.7:80'], retries: 0 });
      expect([host, sent.ok]).toEqual([host, false]);
      expect(JSON.stringify(sent)).not.toContain(SECRET);
    }
    expect(taken).toEqual([]);
  });
});
