// ASearcher's two normalizers, ported from Python: where JavaScript's definition of whitespace, word boundary or digit differs from
// Python's, this file spells out Python's.

/** Whitespace as Python's str.split(), str.strip() and \s define it. */
const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const spaces = new RegExp(`[${SPACE}]+`, 'gu');
const outerSpaces = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, 'gu');
/** string.punctuation: ASCII only. */
const punctuation = /[!-/:-@[-`{-~]/g;
/** \b(a|an|the)\b with Python's word characters: letters, numbers and the underscore, but no marks. */
const articles = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;
/** str.isdigit(): decimal digits and characters of type Digit, such as superscripts. */
const digit =
  /[\p{Nd}\u{b2}-\u{b3}\u{b9}\u{1369}-\u{1371}\u{19da}\u{2070}\u{2074}-\u{2079}\u{2080}-\u{2089}\u{2460}-\u{2468}\u{2474}-\u{247c}\u{2488}-\u{2490}\u{24ea}\u{24f5}-\u{24fd}\u{24ff}\u{2776}-\u{277e}\u{2780}-\u{2788}\u{278a}-\u{2792}\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}\u{1f100}-\u{1f10a}]/u;
const chinese = /[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff]/u;
const chineseNoise = new Set('0123456789，。 ,.-');

/** str.strip() */
export const strip = (text: string): string => text.replace(outerSpaces, '');

/** str.split(): nonempty pieces between runs of whitespace. */
export function words(text: string): string[] {
  const stripped = strip(text);
  return stripped === '' ? [] : stripped.split(spaces);
}

/** For EM and CEM: lowercase, no ASCII punctuation, no articles, single spaces. */
export function normalizeAnswer(text: string): string {
  return words(text.toLowerCase().replace(punctuation, '').replace(articles, ' ')).join(' ');
}

/** For F1: ASCII punctuation becomes a space, single spaces, lowercase. */
export function normalizeText(text: string): string {
  return strip(text.replace(punctuation, ' ').replace(spaces, ' ')).toLowerCase();
}

/** "True" becomes yes and "False" becomes no; anything else, other spellings included, stays. */
export const mapBoolean = (text: string): string => (text === 'True' ? 'yes' : text === 'False' ? 'no' : text);

export const containsChinese = (text: string): boolean => chinese.test(text);

/** Tokens of a text in a comparison with Chinese: its characters, with numbers kept whole. */
export function chineseTokens(text: string): Set<string> {
  const tokens = new Set<string>();
  let number = '';
  for (const character of text) {
    if (digit.test(character)) {
      number += character;
    } else if (number !== '') {
      tokens.add(number);
      number = '';
    }
    if (!chineseNoise.has(character)) tokens.add(character);
  }
  if (number !== '') tokens.add(number);
  return tokens;
}
