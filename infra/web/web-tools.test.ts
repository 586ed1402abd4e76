import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { folder, setUpWebTools, site, web } from './web-tools.testing.ts';

setUpWebTools();

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

describe('reading pages', () => {
  it('returns readable text with its links, without scripts and menus', async () => {
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
  ])('returns an error for %s', async (path, status, errorType) => {
    expect(await web().access(site.url + path)).toMatchObject({ status, errorType, items: [], cacheHit: false });
  });
  it.each(['/slow', '/drip'])('does not wait for %s', async (path) => {
    expect(await web({ timeoutMs: 300 }).access(site.url + path)).toMatchObject({ status: 'timeout', errorType: 'timeout' });
  });
  it('reads an endless page and a decompression bomb up to the size limit', async () => {
    const { access } = web({ maxPageBytes: 100_000 });
    expect(await access(`${site.url}/endless`)).toMatchObject({ status: 'ok' });
    expect(['ok', 'error']).toContain((await access(`${site.url}/bomb`)).status);
  });
  it('retries transient failures, and stops when the call is stopped', async () => {
    const before = site.seen.filter((path) => path === '/flaky').length;
    await web({ retries: 1 }).access(`${site.url}/flaky`);
    expect(site.seen.filter((path) => path === '/flaky').length).toBe(before + 2);
    const [, access] = web().tools;
    expect(await access!.call(`${site.url}/slow`, AbortSignal.timeout(50))).toMatchObject({ status: 'timeout', errorType: 'aborted' });
  });
});

describe('the cache', () => {
  it('answers the second time, also from another instance, but never with a failure', async () => {
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

  it('stores nothing when it is turned off', async () => {
    const cacheFolder = join(folder, 'off');
    await web({ cacheFolder, cacheTtlMs: 0 }).access(`${site.url}/page/9`);
    expect(existsSync(cacheFolder)).toBe(false);
  });
});
