import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ToolResult } from '../../streams/core/agents.ts';
import { startWebSite, type WebSite } from '../testing/web-site.ts';
import type { Resolve } from './guarded-agent.ts';
import type { WebOptions } from './options.ts';
import { createWebTools, type WebTools } from './web-tools.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let site: WebSite;
/** A server that must never receive a request. */
let inside: WebSite;
let folder = '';
const opened: WebTools[] = [];
beforeAll(async () => {
  [site, inside] = await Promise.all([startWebSite(), startWebSite()]);
  folder = mkdtempSync(join(tmpdir(), 'turnstream-web-'));
});
afterAll(async () => {
  await Promise.all(opened.map((tools) => tools.close()));
  await Promise.all([site.close(), inside.close()]);
  rmSync(folder, { recursive: true, force: true });
});

let folders = 0;
const addresses = new Map<string, readonly string[]>();
const resolve: Resolve = (hostname, _options, done) => {
  const found = addresses.get(hostname) ?? (hostname === 'localhost' ? ['127.0.0.1'] : undefined);
  if (found === undefined) done(Object.assign(new Error(`no address of ${hostname}`), { code: 'ENOTFOUND' }), []);
  else
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
};

function web(more: Partial<WebOptions> = {}) {
  folders += 1;
  const made = createWebTools(
    {
      ...{ serperUrl: `${site.url}/page/1`, serperApiKey: 'key', topK: 3, reader: 'builtin', jinaUrl: site.url, jinaApiKey: '' },
      ...{ searchConcurrency: 4, accessConcurrency: 16, timeoutMs: 30_000, retries: 0, maxPageBytes: 2 ** 20, maxRedirects: 4 },
      ...{ allowed: [site.host, site.rawHost], cacheFolder: join(folder, String(folders)), cacheMaxBytes: 2 ** 26, cacheTtlMs: 60_000 },
      ...more,
    },
    { now: () => 1_000, random: () => 0.5, resolve },
  );
  opened.push(made);
  const [search, access] = made.tools;
  const signal = (): AbortSignal => new AbortController().signal;
  return {
    search: (query: string) => search!.call(query, signal()),
    access: (url: string) => access!.call(url, signal()),
    tools: made.tools,
  };
}

describe('reading pages', () => {
  it('gives readable text with its links, and nothing of scripts and menus', async () => {
    const result = await web().access(`${site.url}/page/3`);
    expect(result).toMatchObject({ status: 'ok', errorType: '', cacheHit: false });
    expect(result.items).toEqual([{ url: `${site.url}/page/3`, title: 'Page 3' }]);
    expect(result.text).toContain('# Page 3');
    expect(result.text).toContain(`- [page 4](${site.url}/page/4)`);
    expect(result.text).not.toMatch(/alert|menu|imprint|color/);
  });
  it('walks a site of linked pages', async () => {
    const { access } = web();
    const read = new Set<string>();
    const next = [`${site.url}/page/0`];
    while (next.length > 0 && read.size < 200) {
      const wave = next.splice(0, 16).filter((url) => !read.has(url));
      for (const url of wave) read.add(url);
      for (const { status, text } of await Promise.all(wave.map((url) => access(url)))) {
        expect(status).toBe('ok');
        for (const [, url = ''] of text.matchAll(/\]\(([^)]+)\)/g)) if (!read.has(url)) next.push(url);
      }
    }
    expect(read.size).toBe(200);
  });
  it.each([
    ['/latin1', /naïve café/],
    ['/broken-encoding', /begin .* end/],
    ['/deep', /deep down/],
    ['/spaces', /end/],
    ['/hidden', /^seen$/],
    ['/redirect?to=/page/5', /# Page 5/],
    ['/huge', /word word/],
  ])('reads %s', async (path, text) => {
    const result = await web().access(site.url + path);
    expect(result).toMatchObject({ status: 'ok' });
    expect(result.text).toMatch(text);
    expect(result.text.length).toBeLessThanOrEqual(250_000);
  });
  it.each([
    ['/binary', 'error', 'unsupported_type'],
    ['/image', 'error', 'unsupported_type'],
    ['/not-gzip', 'error', 'bad_answer'],
    ['/loop', 'error', 'redirect_loop'],
    ['/ever', 'error', 'too_many_redirects'],
    ['/nothing', 'error', 'http_404'],
    ['/flaky', 'error', 'http_503'],
    ['/empty', 'error', 'empty_page'],
    ['/abyss', 'error', 'empty_page'],
    ['/redirect?to=ftp://example.org/', 'refused', 'unsupported_scheme'],
    ['/redirect?to=file:///etc/passwd', 'refused', 'unsupported_scheme'],
  ])('says what is wrong with %s', async (path, status, errorType) => {
    expect(await web().access(site.url + path)).toMatchObject({ status, errorType, items: [], cacheHit: false });
  });
  it.each(['/slow', '/drip'])('does not wait for %s', async (path) => {
    expect(await web({ timeoutMs: 300 }).access(site.url + path)).toMatchObject({ status: 'timeout', errorType: 'timeout' });
  });
  it('takes an endless page and a bomb up to its limit', async () => {
    const { access } = web({ maxPageBytes: 100_000 });
    expect(await access(`${site.url}/endless`)).toMatchObject({ status: 'ok' });
    expect(['ok', 'error']).toContain((await access(`${site.url}/bomb`)).status);
  });
  it('tries again what may pass, and stops when the call is stopped', async () => {
    const before = site.seen.filter((path) => path === '/flaky').length;
    await web({ retries: 1 }).access(`${site.url}/flaky`);
    expect(site.seen.filter((path) => path === '/flaky').length).toBe(before + 2);
    const [, access] = web().tools;
    expect(await access!.call(`${site.url}/slow`, AbortSignal.timeout(50))).toMatchObject({ status: 'timeout', errorType: 'aborted' });
  });
});

describe('the cache', () => {
  it('answers the second time, also in another process, but never with a failure', async () => {
    const cacheFolder = join(folder, 'shared');
    const { timing, ...first } = await web({ cacheFolder }).access(`${site.url}/page/9`);
    expect(timing).toMatchObject({ retries: 0, retryMs: 0 });
    expect(timing?.serverMs, 'what comes from the cache was not asked for').toBeGreaterThan(0);
    const count = site.seen.length;
    expect(await web({ cacheFolder }).access(`${site.url}/page/9#part`)).toEqual({ ...first, cacheHit: true });
    expect(site.seen.length).toBe(count);
    await web({ cacheFolder }).access(`${site.url}/nothing`);
    await web({ cacheFolder }).access(`${site.url}/nothing`);
    expect(site.seen.length).toBe(count + 2);
    expect(await web({ cacheFolder, cacheTtlMs: 0 }).access(`${site.url}/page/9`)).toMatchObject({ cacheHit: false });
  });
});

/** Private addresses in every notation that a URL accepts. */
function privateHosts(): readonly string[] {
  const port = inside.host.split(':')[1]!;
  const numbers = [
    ...[
      '127.0.0.1',
      '127.1',
      '0x7f.0.0.1',
      '0177.0.0.1',
      '2130706433',
      '0x7f000001',
      '127.255.255.254',
      '0.0.0.0',
      '0',
      '10.0.0.1',
      '10.255.0.1',
    ],
    ...[
      '100.64.0.1',
      '169.254.169.254',
      '0xa9fea9fe',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.0.1',
      '192.168.1.254',
      '192.0.0.8',
      '198.18.0.1',
    ],
    ...[
      '203.0.113.9',
      '224.0.0.1',
      '239.1.1.1',
      '240.0.0.1',
      '255.255.255.255',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[fe80::1]',
    ],
    ...[
      '[fc00::1]',
      '[fd12:3456::1]',
      '[ff02::1]',
      '[2002:7f00:1::]',
      '[2001:0:7f00:1::]',
      '[64:ff9b::7f00:1]',
      '[2001:db8::1]',
      '[::7f00:1]',
    ],
  ];
  return [...numbers.map((host) => `${host}:${port}`), `localhost:${port}`, `localhost.:${port}`];
}

function hostile(): readonly string[] {
  const hosts = privateHosts();
  const named = [
    ...['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.0.10', '::1', 'fd00::1', 'fe80::2', '::ffff:127.0.0.1', '0.0.0.0'],
  ].flatMap((address, at) => {
    addresses.set(`inside-${at}.test`, [address]);
    addresses.set(`mixed-${at}.test`, ['93.184.216.34', address]);
    addresses.set(`turned-${at}.test`, [address, '93.184.216.34']);
    return ['inside', 'mixed', 'turned'].map((kind) => `${kind}-${at}.test:${inside.host.split(':')[1]!}`);
  });
  const all = [...hosts, ...named];
  const redirected = (scheme: string) => all.map((host) => `${site.url}/redirect?to=${encodeURIComponent(`${scheme}://${host}/page/1`)}`);
  const twice = hosts.map((host) => {
    const once = `${site.url}/redirect?to=${encodeURIComponent(`http://${host}/page/2`)}`;
    return `${site.url}/redirect?to=${encodeURIComponent(once)}`;
  });
  const raw = [
    '',
    '\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n',
    'HTTP/9.9 999 ?\r\n\r\n',
    `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(6_000)}`,
  ];
  const schemes = [
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
    'data:text/html,hi',
    'javascript:alert(1)',
    'gopher://127.0.0.1',
    'http://',
    'nonsense',
    '',
  ];
  return [
    ...all.map((host) => `http://${host}/page/1`),
    ...all.map((host) => `https://${host}/`),
    ...redirected('http'),
    ...redirected('https'),
    ...twice,
    ...raw.map((answer) => `http://${site.rawHost}/${encodeURIComponent(answer)}`),
    ...schemes,
    `http://user:secret@${site.host}/page/1`,
    `http://${'a'.repeat(5_000)}.test/`,
    'http://unknown.test/',
    ...['/slow', '/drip', '/loop', '/ever', '/binary', '/image', '/not-gzip', '/cut', '/hang-up', '/empty', '/abyss'].map(
      (path) => site.url + path,
    ),
  ];
}

it('300 hostile pages and URLs: none is fetched from inside, none hangs, each is a result with a status', async () => {
  const urls = hostile();
  expect(urls.length).toBeGreaterThanOrEqual(300);
  const { access } = web({ timeoutMs: 2_000, maxPageBytes: 100_000, accessConcurrency: 32 });
  const results = await Promise.all(urls.map(async (url) => ({ url, result: await access(url) })));
  const refused = (result: ToolResult): boolean => result.status === 'refused' && result.errorType === 'private_address';
  for (const { url, result } of results) {
    expect(['error', 'timeout', 'refused'], `${url}: ${result.text}`).toContain(result.status);
    expect(result.errorType, url).not.toBe('');
    expect(result.text, url).not.toContain('speaks of number');
  }
  expect(inside.seen).toEqual([]);
  expect(results.filter(({ result }) => refused(result)).length).toBeGreaterThan(200);
  await expect.poll(() => inside.open()).toBe(0);
});
