import { expect, it } from 'vitest';
import { assertSought, holds, partOf, soughtParams } from './sought.ts';

it('a text and an expression must both match, and the match returned is that of the expression', () => {
  const both = { q: 'Vienna', regex: 'V.*a' };
  expect(soughtParams(both)).toEqual({ sought_text: 'Vienna', sought_regex: 'V.*a' });
  expect(holds('text', both)).toBe('positionCaseInsensitiveUTF8(text, {sought_text:String}) > 0 and match(text, {sought_regex:String})');
  expect(partOf('text', both)).toContain('{sought_regex:String}');
  expect(() => {
    assertSought(both);
  }).not.toThrow();
});

it('one of them alone binds no parameter of the other', () => {
  expect([soughtParams({ q: 'a' }), soughtParams({ regex: 'a' })]).toEqual([{ sought_text: 'a' }, { sought_regex: 'a' }]);
  expect(holds('text', { q: 'a' })).not.toContain('regex');
  expect(holds('text', { regex: 'a' })).not.toContain('sought_text');
});

it('a search with neither is refused, with the names of both', () => {
  expect(() => {
    assertSought({});
  }).toThrow(/q or regex/);
});
