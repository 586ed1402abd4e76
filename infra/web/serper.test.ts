// Serper and Jina with a local server: what they receive, and how every kind of response is handled.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { KEY, says, seen, serviceAnswers, setUpWebServices, troubles, untimed, web, withoutKey } from './web-services.testing.ts';

setUpWebServices();

vi.setConfig({ testTimeout: 120_000 });

describe('Serper', () => {
  it('receives each query once, as JSON with the key in a header', async () => {
    const organic = [
      { link: 'https://a.test/1', title: 'One', snippet: 'first', position: 1 },
      { title: 'without a link' },
      'nonsense',
      { link: 'https://a.test/2', title: 7 },
      { link: 'https://a.test/3', title: 'too many' },
    ];
    serviceAnswers(says(200, { searchParameters: {}, organic }));
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

  it('is not called for an empty query, and an empty response is an empty result', async () => {
    serviceAnswers(says(200, {}));
    expect(await web().search('   ')).toMatchObject({ status: 'ok', items: [] });
    expect(seen).toEqual([]);
    expect(await web().search('x')).toMatchObject({ status: 'ok', items: [], text: 'No search results are found.' });
  });

  it.each(troubles)('%s is a result with a status', async (...[, trouble, status, errorType]) => {
    serviceAnswers(trouble);
    const result = await withoutKey(() => web({ timeoutMs: 300 }).search('x'));
    expect(result).toMatchObject({ status, errorType, items: [], cacheHit: false });
    expect(result.text).toMatch(/^The search failed: /);
    expect(seen).toHaveLength(1);
  });

  it.each(['', 'null', '[]', '7', '{"organic": 7}', '<html>', '{"organic": [', '\u0000'])('malformed %j gives a status', async (body) => {
    serviceAnswers(says(200, body));
    const result = await web().search('x');
    expect(result.items).toEqual([]);
    // a list is an object without results
    expect([result.status, result.errorType]).toEqual(body === '[]' ? ['ok', ''] : ['error', 'bad_answer']);
  });

  it('is retried after transient failures, and not after others', async () => {
    let asked = 0;
    serviceAnswers((response) => {
      asked += 1;
      says(asked === 1 ? 503 : 200, { organic: [] })(response);
    });
    expect(await web({ retries: 1 }).search('x')).toMatchObject({ status: 'ok' });
    expect(asked).toBe(2);
    seen.length = 0;
    serviceAnswers(says(403, ''));
    expect(await web({ retries: 3 }).search('x')).toMatchObject({ errorType: 'http_403' });
    expect(seen).toHaveLength(1);
  });

  it('is not waited for after the call is stopped', async () => {
    serviceAnswers(() => undefined);
    expect(await web({ retries: 5 }).search('x', AbortSignal.timeout(50))).toMatchObject({ status: 'timeout', errorType: 'aborted' });
  });
});
