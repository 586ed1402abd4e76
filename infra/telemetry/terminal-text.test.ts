import fc from 'fast-check';
import { expect, it } from 'vitest';
import { terminalChunks, terminalJson, terminalText } from './terminal-text.ts';

const everyCharacter = Array.from({ length: 0x10000 }, (_, code) => code).filter((code) => code < 0xd800 || code > 0xdfff);
/** What a terminal or the direction of its text reacts to, besides line feeds and tabs. */
const isControl = (character: string): boolean => /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(character) && !'\n\t'.includes(character);
/** The Arabic letter mark is a part of ordinary text. */
const LETTER_MARK = '\u061c';

it('keeps every character but those that a terminal reacts to', () => {
  const kept = everyCharacter.map((code) => String.fromCharCode(code)).filter((one) => terminalText(one) === one);
  expect(kept.filter((one) => isControl(one) && one !== LETTER_MARK)).toEqual([]);
  expect(everyCharacter.length - kept.length).toBe(33 + 32 - 2 + 2 + 2 + 5 + 4);
});

it.each([
  ['a title', '\u001b]0;owned\u0007text', '·]0;owned·text'],
  ['the cursor', 'a\u001b[2Ab\rc', 'a·[2Ab·c'],
  ['a single control character', 'a\u009b2Jb', 'a·2Jb'],
  ['hidden text', '\u001b[8msecret\u001b[0m', '·[8msecret\u001b[0m'],
  ['a style with more', '\u001b[1;8mx', '·[1;8mx'],
  ['the direction', 'a\u202eb', 'a·b'],
])('shows a dot for %s', (_what, text, wanted) => {
  expect(terminalText(text)).toBe(wanted);
});

it('keeps the styles of a table', () => {
  const table = '┌─\u001b[1mn\u001b[0m─┐\n\u001b[90m1.\u001b[0m\t\u001b[31;1m▒\u001b[0m\n';
  expect(terminalText(table)).toBe(table);
});

const part = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\u001b', '[', '1m', '31;1m', '0m', '\u009b', 'é', '😀', '\u202e', '\u001b[1m', '\u001b[8m'),
);

it('gives the same text for the chunks of a stream as for the whole', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), fc.array(fc.nat(60)), (parts, cuts) => {
      // a last line feed: a style that never ends is not shown
      const bytes = Buffer.from(`${parts.join('')}\n`);
      const places = [...new Set([0, ...cuts.filter((at) => at < bytes.length), bytes.length])].sort((a, b) => a - b);
      const shown = terminalChunks();
      const chunks = places.slice(1).map((end, i) => shown(bytes.subarray(places[i], end)));
      expect(chunks.join('')).toBe(terminalText(bytes.toString()));
    }),
  );
});

it('escapes JSON without a change of its value', () => {
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const line = JSON.stringify({ text: parts.join('') });
      expect(JSON.parse(terminalJson(line))).toEqual(JSON.parse(line));
      expect(Array.from(terminalJson(line)).filter((one) => isControl(one) && one !== LETTER_MARK)).toEqual([]);
    }),
  );
});
