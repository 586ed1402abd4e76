import { describe, expect, it, vi } from 'vitest';
import { KEY, says, seen, serviceAnswers, setUpWebServices, troubles, untimed, web, withoutKey } from './web-services.testing.ts';

setUpWebServices();

vi.setConfig({ testTimeout: 120_000 });

describe('Jina', () => {
  it('receives the page URL after its own URL, and the key in a header', async () => {
    serviceAnswers(says(200, { code: 200, data: { title: 'A page', content: 'What it says', url: 'x' } }));
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

  it('may respond with plain text, or with an empty page', async () => {
    serviceAnswers(says(200, 'Title: A page\n\nwords', { 'content-type': 'text/plain' }));
    expect(await web().access('http://public.test/')).toMatchObject({ status: 'ok', text: 'Title: A page\n\nwords' });
    serviceAnswers(says(200, { data: { content: ' ' } }));
    expect(await web().access('http://public.test/')).toMatchObject({ status: 'error', errorType: 'empty_page' });
  });

  it.each(troubles)('%s is a result with a status', async (...[, trouble, status, errorType]) => {
    serviceAnswers(trouble);
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
  it.each([...numbers, ...names])('is never called for %s', async (host) => {
    serviceAnswers(says(200, 'a secret'));
    const { access } = web();
    for (const url of [`http://${host}/`, `https://${host}:8443/x`]) {
      expect(await access(url)).toMatchObject({ status: 'refused', errorType: 'private_address', items: [] });
    }
    expect(seen).toEqual([]);
  });

  it('is not called for a name without an address, or when the name server does not respond', async () => {
    serviceAnswers(says(200, 'a secret'));
    expect(await web().access('http://unknown.test/')).toMatchObject({ status: 'error', errorType: 'dns' });
    expect(await web({ timeoutMs: 50 }).access('http://silent.test/')).toMatchObject({ status: 'timeout', errorType: 'timeout' });
    expect(await web().access('http://silent.test/', AbortSignal.timeout(50))).toMatchObject({ status: 'timeout', errorType: 'aborted' });
    expect(seen).toEqual([]);
  });

  it('is called for private addresses that the operator allows', async () => {
    serviceAnswers(says(200, 'the intranet'));
    expect(await web({ allowed: ['inside.test:80'] }).access('http://inside.test/')).toMatchObject({ status: 'ok', text: 'the intranet' });
    expect(await web({ allowed: ['inside.test:80'] }).access('http://inside.test:81/')).toMatchObject({ errorType: 'private_address' });
    expect(seen).toHaveLength(1);
  });
});
