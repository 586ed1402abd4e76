import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foreignHeader, isLoopbackHost } from './fetch-site.ts';

const host = '127.0.0.1:8123';

describe('who sent a request', () => {
  it.each([
    ['a program', { host }],
    ['a program without a Host', {}],
    ['a program that calls it localhost', { host: 'localhost:8123' }],
    ['a program over IPv6', { host: '[::1]:8123' }],
    ['the address bar', { host, 'sec-fetch-site': 'none' }],
    ['a page of this port', { host, 'sec-fetch-site': 'same-origin', origin: `http://${host}` }],
    ['a page of this port in an old browser', { host, origin: `http://${host}` }],
  ])('%s is accepted', (_who, headers) => {
    expect(foreignHeader(headers)).toBeUndefined();
  });

  it.each([
    ['a page of another site', { host, 'sec-fetch-site': 'cross-site' }, 'sec-fetch-site'],
    ['a page on another port', { host, 'sec-fetch-site': 'same-site' }, 'sec-fetch-site'],
    ['an unknown site', { host, 'sec-fetch-site': 'other' }, 'sec-fetch-site'],
    ['two sites', { host, 'sec-fetch-site': 'same-origin, cross-site' }, 'sec-fetch-site'],
    ['two sites as a list', { host, 'sec-fetch-site': ['none', 'cross-site'] }, 'sec-fetch-site'],
    ['an empty site', { host, 'sec-fetch-site': '' }, 'sec-fetch-site'],
    ['another origin', { host, origin: 'https://example.org' }, 'origin'],
    ['another port', { host, origin: 'http://127.0.0.1:9999' }, 'origin'],
    ['a sandboxed page', { host, origin: 'null' }, 'origin'],
    ['an origin without a Host', { origin: 'http://127.0.0.1:8123' }, 'origin'],
    ['an origin of another scheme', { host, origin: `file://${host}` }, 'origin'],
    ['an origin without a scheme', { host, origin: host }, 'origin'],
    ['a DNS-rebound name', { host: 'evil.example:8123', origin: 'http://evil.example:8123', 'sec-fetch-site': 'same-origin' }, 'host'],
    ['a name that begins with a loopback address', { host: '127.0.0.1.evil.example' }, 'host'],
    ['another name in front', { host: 'evil.localhost.example' }, 'host'],
    ['every address of the machine', { host: '0.0.0.0:8123' }, 'host'],
  ])('%s is foreign', (_who, headers, by) => {
    expect(foreignHeader(headers)).toBe(by);
  });

  it('accepts any host name of a port that other machines can reach', () => {
    expect(foreignHeader({ host: 'gpu-1:8080' }, 'any')).toBeUndefined();
    expect(foreignHeader({ host: 'gpu-1:8080', origin: 'http://gpu-1:8080' }, 'any')).toBeUndefined();
    expect(foreignHeader({ host: 'gpu-1:8080', origin: 'http://other' }, 'any')).toBe('origin');
  });

  it('accepts only the two values of Sec-Fetch-Site, and only its own origin', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(foreignHeader({ host, 'sec-fetch-site': value }) === undefined).toBe(value === 'none' || value === 'same-origin');
        expect(foreignHeader({ host, origin: value })).toBe('origin');
      }),
    );
  });

  it('recognizes loopback addresses', () => {
    for (const name of ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.8.9.1:80', '[::1]', '[::1]:65535'])
      expect(isLoopbackHost(name)).toBe(true);
    for (const name of ['', '128.0.0.1', '::1', 'localhost:', 'localhost:x', 'localhost.', '127.0.0.1@evil', 'a localhost'])
      expect(isLoopbackHost(name)).toBe(false);
  });
});
