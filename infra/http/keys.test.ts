import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKeyRing, mayUse, presentedKey } from './keys.ts';

const reader = 'reader-key-0123456789';
const all = 'admin-key-0123456789';
const ring = createKeyRing([`${reader}:read+sql`, `${all}:admin`]);

describe('keys', () => {
  it('allow everything when none is configured', () => {
    expect(createKeyRing([]).open).toBe(true);
    expect(ring.open).toBe(false);
  });

  it('give their scopes, and admin gives every scope', () => {
    const caller = ring.callerOf(reader)!;
    expect(['read', 'sql', 'write', 'admin'].map((scope) => mayUse(caller, scope as 'read'))).toEqual([true, true, false, false]);
    expect(mayUse(ring.callerOf(all)!, 'write')).toBe(true);
  });

  it('match exactly or not at all', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(text !== reader && text !== all);
        expect(ring.callerOf(text)).toBeUndefined();
      }),
    );
    expect(ring.callerOf(reader.slice(0, -1))).toBeUndefined();
    expect(ring.callerOf(`${reader} `)).toBeUndefined();
  });

  it.each(['', 'no-colon', ':read', 'key:', 'key:read+', 'key:everything'])('refuse the entry %j', (entry) => {
    expect(() => createKeyRing([entry])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('are read from either header', () => {
    expect(presentedKey({ authorization: 'Bearer abc' })).toBe('abc');
    expect(presentedKey({ authorization: 'bearer  abc' })).toBe('abc');
    expect(presentedKey({ 'x-api-key': 'abc' })).toBe('abc');
    expect(presentedKey({ authorization: 'Basic abc', 'x-api-key': 'def' })).toBe('def');
    expect(presentedKey({ authorization: 'Bearer a b' })).toBeUndefined();
    expect(presentedKey({ 'x-api-key': '' })).toBeUndefined();
    expect(presentedKey({})).toBeUndefined();
  });
});
