// Serper and Jina with a local server: what they receive, and how every kind of response is handled.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ToolResult } from '../../streams/core/agents.ts';
import type { Resolve } from './guarded-agent.ts';
import type { WebOptions } from './options.ts';
import { createWebTools, type WebTools } from './web-tools.ts';

vi.setConfig({ testTimeout: 120_000 });

const KEY = 'a-key-that-nobody-sees';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
type Answer = (response: ServerResponse) => void;

const seen: Seen[] = [];
let answer: Answer;
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
function web(more: Partial<WebOptions> = {}) {
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

const says =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** Checks that the key appears in no output, no cache file and no result. */
async function withoutKey<T>(work: () => Promise<T>): Promise<T> {
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
const troubles: readonly (readonly [string, Answer, string, string])[] = [
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
const untimed = ({ timing: _timing, ...result }: ToolResult) => result;

describe('Serper', () => {
  it('is sent the query as JSON with the key in a header, once for the same query', async () => {
    const organic = [
      { link: 'https://a.test/1', title: 'One', snippet: 'first', position: 1 },
      { title: 'without a link' },
      'nonsense',
      { link: 'https://a.test/2', title: 7 },
      { link: 'https://a.test/3', title: 'too many' },
    ];
    answer = says(200, { searchParameters: {}, organic });
    const { search, cache } = web();
    const result = await withoutKey(() => search('  what "is" \u00e9?  '));
    expect(result).toMatchObject({
      ...{ status: 'ok', errorType: '', cacheHit: false },
      items: [
        { url: 'https://a.test/1', title: 'One' },
        { url: 'https://a.test/2', title: '' },
      ],
    });
    expect(result.text).toContain('[Doc 1](https://a.test/1): One\nfirst');
    expect(await search('what "is" \u00e9?')).toEqual({ ...untimed(result), cacheHit: true });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/search', headers: { 'content-type': 'application/json', 'x-api-key': KEY } });
    expect(JSON.parse(seen[0]!.body)).toEqual({ q: 'what "is" \u00e9?', num: 2 });
    const files = cache().filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(0);
    for (const entry of files) expect(readFileSync(join(entry.parentPath, entry.name), 'utf8')).not.toContain(KEY);
  });

  it('is not asked for nothing, and finds nothing where nothing is', async () => {
    answer = says(200, {});
    expect(await web().search('   ')).toMatchObject({ status: 'ok', items: [] });
    expect(seen).toEqual([]);
    expect(await web().search('x')).toMatchObject({ status: 'ok', items: [], text: 'No search results are found.' });
  });

  it.each(troubles)('%s is a result with a status', async (...[, trouble, status, errorType]) => {
    answer = trouble;
    const result = await withoutKey(() => web({ timeoutMs: 300 }).search('x'));
    expect(result).toMatchObject({ status, errorType, items: [], cacheHit: false });
    expect(result.text).toMatch(/^The search failed: /);
    expect(seen).toHaveLength(1);
  });

  it.each(['', 'null', '[]', '7', '{"organic": 7}', '<html>', '{"organic": [', '\u0000'])('the garbage %j is one too', async (body) => {
    answer = says(200, body);
    const result = await web().search('x');
    expect(result.items).toEqual([]);
    // a list is an object without results
    expect([result.status, result.errorType]).toEqual(body === '[]' ? ['ok', ''] : ['error', 'bad_answer']);
  });

  it('is asked again after what may pass, and not after what may not', async () => {
    let asked = 0;
    answer = (response) => {
      asked += 1;
      says(asked === 1 ? 503 : 200, { organic: [] })(response);
    };
    expect(await web({ retries: 1 }).search('x')).toMatchObject({ status: 'ok' });
    expect(asked).toBe(2);
    seen.length = 0;
    answer = says(403, '');
    expect(await web({ retries: 3 }).search('x')).toMatchObject({ errorType: 'http_403' });
    expect(seen).toHaveLength(1);
  });

  it('is left when the call is stopped', async () => {
    answer = () => undefined;
    expect(await web({ retries: 5 }).search('x', AbortSignal.timeout(50))).toMatchObject({ status: 'timeout', errorType: 'aborted' });
  });
});

describe('Jina', () => {
  it('is sent the URL after its own, with the key in a header', async () => {
    answer = says(200, { code: 200, data: { title: 'A page', content: 'What it says', url: 'x' } });
    const { access } = web();
    const result = await withoutKey(() => access('https://public.test/a?b=c&d=%20#part'));
    expect(result).toMatchObject({
      status: 'ok',
      text: 'What it says',
      items: [{ url: 'https://public.test/a?b=c&d=%20', title: 'A page' }],
    });
    expect(await access('https://public.test/a?b=c&d=%20')).toEqual({ ...untimed(result), cacheHit: true });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      ...{ method: 'GET', url: '/read/https://public.test/a?b=c&d=%20', body: '' },
      headers: { accept: 'application/json', authorization: `Bearer ${KEY}` },
    });
    await web({ jinaApiKey: '' }).access('https://public.test/');
    expect(seen[1]!.headers.authorization).toBeUndefined();
  });

  it('may answer text, or a page without any', async () => {
    answer = says(200, 'Title: A page\n\nwords', { 'content-type': 'text/plain' });
    expect(await web().access('http://public.test/')).toMatchObject({ status: 'ok', text: 'Title: A page\n\nwords' });
    answer = says(200, { data: { content: ' ' } });
    expect(await web().access('http://public.test/')).toMatchObject({ status: 'error', errorType: 'empty_page' });
  });

  it.each(troubles)('%s is a result with a status', async (...[, trouble, status, errorType]) => {
    answer = trouble;
    const result = await withoutKey(() => web({ timeoutMs: 300 }).access('https://public.test/'));
    expect(result).toMatchObject({ status, errorType, items: [], cacheHit: false });
    expect(result.text).toMatch(/^https:\/\/public\.test\/ cannot be read: /);
    expect(seen).toHaveLength(1);
  });

  const numbers = [
    ...['127.0.0.1', '127.1', '2130706433', '0x7f.1', '0177.0.0.1', '0', '10.0.0.1', '172.16.5.4', '192.168.1.1', '169.254.169.254'],
    ...['100.64.0.1', '[::1]', '[::ffff:10.0.0.1]', '[fd00::1]', '[fe80::1]', '[64:ff9b::a00:1]'],
  ];
  const names = ['localhost', 'LOCALHOST', 'inside.test', 'mixed.test', 'mapped.test'];
  it.each([...numbers, ...names])('never hears of %s', async (host) => {
    answer = says(200, 'a secret');
    const { access } = web();
    for (const url of [`http://${host}/`, `https://${host}:8443/x`]) {
      expect(await access(url)).toMatchObject({ status: 'refused', errorType: 'private_address', items: [] });
    }
    expect(seen).toEqual([]);
  });

  it('never hears of what has no address here, and is not waited for by a silent name server', async () => {
    answer = says(200, 'a secret');
    expect(await web().access('http://unknown.test/')).toMatchObject({ status: 'error', errorType: 'dns' });
    expect(await web({ timeoutMs: 50 }).access('http://silent.test/')).toMatchObject({ status: 'timeout', errorType: 'timeout' });
    expect(await web().access('http://silent.test/', AbortSignal.timeout(50))).toMatchObject({ status: 'timeout', errorType: 'aborted' });
    expect(seen).toEqual([]);
  });

  it('reads what the operator allows', async () => {
    answer = says(200, 'the intranet');
    expect(await web({ allowed: ['inside.test:80'] }).access('http://inside.test/')).toMatchObject({ status: 'ok', text: 'the intranet' });
    expect(await web({ allowed: ['inside.test:80'] }).access('http://inside.test:81/')).toMatchObject({ errorType: 'private_address' });
    expect(seen).toHaveLength(1);
  });
});
