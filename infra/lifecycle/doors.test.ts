import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foreignRequest, isLocalHostHeader } from './doors.ts';

const loopback = { host: '127.0.0.1' };
const refused = (headers: Readonly<Record<string, string>>, door: Parameters<typeof foreignRequest>[1] = loopback): boolean =>
  foreignRequest(headers, door) !== undefined;

describe('the origin check of a port', () => {
  it.each([
    ['a program', { host: '127.0.0.1:8787' }],
    ['a program that names localhost', { host: 'localhost:8787' }],
    ['the address bar', { host: '127.0.0.1:8787', 'sec-fetch-site': 'none' }],
    ['a page of this port', { host: '127.0.0.1:8787', 'sec-fetch-site': 'same-origin', origin: 'http://127.0.0.1:8787' }],
  ])('accepts %s', (_who, headers) => {
    expect(refused(headers)).toBe(false);
  });

  it.each([
    ['a page of another site', { host: '127.0.0.1:8787', 'sec-fetch-site': 'cross-site' }],
    ['a page of another port', { host: '127.0.0.1:8787', 'sec-fetch-site': 'same-site' }],
    ['a page of another port in a browser without Sec-Fetch-Site', { host: '127.0.0.1:8787', origin: 'http://127.0.0.1:8000' }],
    ['a page without an origin', { host: '127.0.0.1:8787', origin: 'null' }],
    ['a page whose domain resolves to this machine', { host: 'evil.example:8787', 'sec-fetch-site': 'same-origin' }],
    ['a request without a Host header', {}],
  ])('rejects %s', (_who, headers) => {
    expect(foreignRequest(headers, loopback)).toMatchObject({ code: 'FOREIGN_ORIGIN' });
  });

  it('accepts configured host names, and checks the Host header on loopback', () => {
    const door = { host: '127.0.0.1', names: ['train.example'] };
    expect(refused({ host: 'train.example' }, door)).toBe(false);
    expect(refused({ host: '127.0.0.1:8787', origin: 'https://train.example', 'sec-fetch-site': 'same-origin' }, door)).toBe(false);
    expect(refused({ host: '127.0.0.1:8787', origin: 'https://other.example' }, door)).toBe(true);
    expect(refused({ host: 'train.example', 'sec-fetch-site': 'cross-site' }, door)).toBe(true);
    expect(refused({ host: 'any.example:80' }, { host: '0.0.0.0' })).toBe(false);
    expect(refused({ host: 'any.example:80', 'sec-fetch-site': 'same-site' }, { host: '0.0.0.0' })).toBe(true);
  });

  it('checks the Host header beyond loopback when host names are configured', () => {
    const door = { host: '0.0.0.0', names: ['train.example'] };
    for (const host of ['train.example', 'TRAIN.example:443', '10.1.2.3:8787', '[fd00::1]:8787', 'localhost:8787']) {
      expect([host, refused({ host }, door)]).toEqual([host, false]);
    }
    for (const host of ['evil.example', 'train.example.evil.example:443', '10.1.2.3.evil.example', 'train.internal']) {
      expect([host, refused({ host }, door)]).toEqual([host, true]);
    }
    expect(refused({}, door)).toBe(true);
    expect(refused({ host: 'train.internal:8787' }, { ...door, host: 'train.internal' })).toBe(false);
    expect(foreignRequest({ host: 'evil.example' }, door)?.message).toContain('TURNSTREAM_API_NAMES');
  });

  it('rejects every request whose Sec-Fetch-Site is another site, whatever its other headers', () => {
    const headers = fc.record({ host: fc.string(), origin: fc.string(), referer: fc.string() }, { requiredKeys: ['host'] });
    const site = fc.string().filter((text) => !['none', 'same-origin'].includes(text));
    fc.assert(fc.property(headers, site, (given, said) => refused({ ...given, 'sec-fetch-site': said })));
  });

  it('takes no other domain for this machine, whatever the port', () => {
    const name = fc.domain().filter((text) => !text.endsWith('.localhost'));
    fc.assert(fc.property(name, fc.nat(65_535), (text, port) => !isLocalHostHeader(`${text}:${port}`)));
  });
});
