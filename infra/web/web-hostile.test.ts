import { expect, it, vi } from 'vitest';
import type { ToolResult } from '../../streams/core/agents.ts';
import { addresses, inside, setUpWebTools, site, web } from './web-tools.testing.ts';

setUpWebTools();

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

/** Addresses that are not public, in many of the notations that a URL accepts. */
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

it('300 hostile pages and URLs: none is fetched from a private address, none hangs, each gives a result with a status', async () => {
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
