// Shared by the tests of Serper and Jina: a server in their place, and its possible failures.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';
import type { ToolResult } from '../../streams/core/agents.ts';
import type { Resolve } from './guarded-agent.ts';
import type { WebOptions } from './options.ts';
import { createWebTools, type WebTools } from './web-tools.ts';

export const KEY = 'a-key-that-nobody-sees';

interface SeenWebRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type RespondWith = (response: ServerResponse) => void;

export const seen: SeenWebRequest[] = [];

let answer: RespondWith = (response) => response.end();

/** How the server in the place of both services responds from now on. */
export function serviceAnswers(next: RespondWith): void {
  answer = next;
}

let base = '';

let folder = '';

const opened: WebTools[] = [];

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method = '', url = '', headers } = request;
    seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    answer(response);
  });
});

/** Call it at the top level of a test file. */
export function setUpWebServices(): void {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'turnstream-services-'));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await Promise.all(opened.map((tools) => tools.close()));
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    seen.length = 0;
  });
}

const addresses: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['93.184.216.34'],
  'inside.test': ['10.0.0.7'],
  'mixed.test': ['93.184.216.34', '::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  localhost: ['127.0.0.1'],
};

const resolve: Resolve = (hostname, _options, done) => {
  const found = addresses[hostname];
  // a name server that never responds
  if (hostname === 'silent.test') return;
  if (found === undefined) done(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []);
  else
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
};

let folders = 0;

export function web(more: Partial<WebOptions> = {}) {
  folders += 1;
  const made = createWebTools(
    {
      ...{ serperUrl: `${base}/search`, serperApiKey: KEY, topK: 2, reader: 'jina', jinaUrl: `${base}/read/`, jinaApiKey: KEY },
      ...{ searchConcurrency: 4, accessConcurrency: 4, timeoutMs: 30_000, retries: 0, maxPageBytes: 2 ** 20, maxRedirects: 4 },
      ...{ allowed: [], cacheFolder: join(folder, String(folders)), cacheMaxBytes: 2 ** 26, cacheTtlMs: 60_000 },
      ...more,
    },
    { now: () => 1_000, random: () => 0, resolve },
  );
  opened.push(made);
  const [search, access] = made.tools;
  const signal = new AbortController().signal;
  return {
    search: (query: string, until = signal) => search!.call(query, until),
    access: (url: string, until = signal) => access!.call(url, until),
    cache: () => readdirSync(join(folder, String(folders)), { recursive: true, withFileTypes: true }),
  };
}

export const says =
  (status: number, body: unknown, headers: Record<string, string> = {}): RespondWith =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** Checks that the key appears in no output, no cache file and no result. */
export async function withoutKey<T>(work: () => Promise<T>): Promise<T> {
  const written: string[] = [];
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      written.push(String(text));
      return true;
    }),
  );
  try {
    const result = await work();
    expect(JSON.stringify([result, written])).not.toContain(KEY);
    return result;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Failures of either service, and the tool's result. */
export const troubles: readonly (readonly [string, RespondWith, string, string])[] = [
  ['429', says(429, { message: `slow down, ${KEY}` }), 'error', 'http_429'],
  ['500', says(500, `broken ${KEY}`), 'error', 'http_500'],
  ['401', says(401, { message: `${KEY} is no key` }), 'error', 'http_401'],
  ['a redirect, which is not followed', says(302, '', { location: '/elsewhere' }), 'error', 'http_302'],
  ['a hang-up', (response) => response.destroy(), 'error', 'connection_failed'],
  [
    'half an answer',
    (response) => response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
    'error',
    'connection_failed',
  ],
  ['silence', () => undefined, 'timeout', 'timeout'],
  [
    'headers and then silence',
    (response) => {
      response.writeHead(200).flushHeaders();
    },
    'timeout',
    'timeout',
  ],
];

/** Cached results have no timing. */
export const untimed = ({ timing: _timing, ...result }: ToolResult) => result;
