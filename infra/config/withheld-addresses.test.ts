import { expect, it } from 'vitest';
import { addressHash, withheldAddress } from './withheld-addresses.ts';

it('is recognized by its hash, and contains no part of the address', () => {
  const url = 'http://user:pass@a.example:8000/v1';
  const withheld = withheldAddress(url);
  expect(withheld).toMatch(/^http:\/\/[0-9a-f]{32}\.withheld\.invalid$/);
  expect(addressHash(withheld)).toBe(addressHash(url));
  expect(withheldAddress(withheld)).toBe(withheld);
  expect(addressHash('http://a.example:8000/v1/?key=k')).toBe(addressHash(url));
  expect(addressHash('http://b.example:8000/v1')).not.toBe(addressHash(url));
});
