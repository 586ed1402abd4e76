// The building blocks of questions: attributes of a country profile that identify it or that can be asked for. A value is a clean text that
// appears verbatim on the page; a field that holds several things has no value.
import { fieldOf } from '../factbook/profiles.ts';
import type { Profile } from '../factbook/profiles.ts';

export interface Attribute {
  readonly key: string;
  /** Label of the field that holds the value. */
  readonly label: string;
  /** Everything that the field names, cleaned; exactly one value means that the field is single-valued. */
  readonly values: (text: string) => readonly string[];
  /** Identifies the country: `whose capital is Vienna`. */
  readonly identify?: (value: string) => string;
  /** Asks for the value: `What is the capital of <who>?` */
  readonly ask?: (who: string) => string;
}

const outsideParentheses = (text: string): string =>
  text
    .replace(/\s*\([^()]*\)/g, '')
    .replace(/\s+/g, ' ')
    .trim();
const parts = (text: string, separator: RegExp): string[] =>
  outsideParentheses(text)
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
const nothing = /^(none|NA|unknown|disputed|traditional|unnamed\b.*|no official.*|not .*|see .*)$/i;
const known = (values: readonly string[]): readonly string[] => values.filter((value) => !nothing.test(value) && value.length <= 90);

const quoted = (text: string): readonly string[] =>
  known([...outsideParentheses(text).matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? ''));
const names = (text: string): readonly string[] => known(parts(text, /[,;/]| or |: note/));
const day = /\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December)\b(?: \d{3,4}\b)?/g;
const place = (text: string): readonly string[] => {
  const found = /^([^\d;]+?) -?[\d,.]+ m$/.exec(outsideParentheses(text));
  return found?.[1] === undefined ? [] : known([found[1]]);
};
const dates = (text: string): readonly string[] => [...outsideParentheses(text).matchAll(day)].map((match) => match[0]);
const currency = (text: string): readonly string[] => {
  const found = /^([\p{L}' -]+?) \([A-Z]{3}\) per US dollar/u.exec(text);
  return found?.[1] === undefined ? [] : known([found[1]]);
};
const author =
  (at: 0 | 1) =>
  (text: string): readonly string[] => {
    const both = outsideParentheses(text).split('/');
    return both.length === 2 && !/;| and |, /.test(text) ? known([(both[at] ?? '').trim()]) : [];
  };
const symbol = (text: string): readonly string[] => known(parts(text.replace(/;? ?national colors?:.*$/, ''), /[,;]/));
const office = (text: string): readonly string[] => {
  const [first = '', ...others] = text.split(/ \(since [^)]*\);? ?/).filter((part) => part.trim() !== '');
  return others.length > 0 || /[(),;]/.test(first) ? [] : known([first]);
};

/** Every attribute, in the order in which candidates are generated. */
export const attributes: readonly Attribute[] = [
  {
    key: 'capital',
    label: 'Capital, name',
    values: names,
    identify: (v) => `whose capital is ${v}`,
    ask: (who) => `What is the capital of ${who}?`,
  },
  {
    key: 'anthem',
    label: 'National anthem, name',
    values: quoted,
    identify: (v) => `whose national anthem is "${v}"`,
    ask: (who) => `What is the name of the national anthem of ${who}?`,
  },
  {
    key: 'highest_point',
    label: 'Elevation extremes, highest point',
    values: place,
    identify: (v) => `whose highest point is ${v}`,
    ask: (who) => `What is the highest point of ${who}?`,
  },
  {
    key: 'lowest_point',
    label: 'Elevation extremes, lowest point',
    values: place,
    identify: (v) => `whose lowest point is ${v}`,
    ask: (who) => `What is the lowest point of ${who}?`,
  },
  {
    key: 'currency',
    label: 'Exchange rates',
    values: currency,
    identify: (v) => `whose exchange rates are quoted in ${v}`,
    ask: (who) => `What is the currency of the exchange rates of ${who}?`,
  },
  {
    key: 'internet_code',
    label: 'Internet country code',
    values: names,
    identify: (v) => `whose Internet country code is ${v}`,
    ask: (who) => `What is the Internet country code of ${who}?`,
  },
  {
    key: 'adjective',
    label: 'Nationality, adjective',
    values: names,
    ask: (who) => `What is the adjective for the nationality of ${who}?`,
  },
  {
    key: 'independence',
    label: 'Independence',
    values: dates,
    identify: (v) => `whose independence dates from ${v}`,
    ask: (who) => `What is the date of the independence of ${who}?`,
  },
  {
    key: 'holiday',
    label: 'National holiday',
    values: dates,
    ask: (who) => `On which date is the national holiday of ${who}?`,
  },
  {
    key: 'local_long_form',
    label: 'Country name, local long form',
    values: names,
    identify: (v) => `whose name in its local long form is ${v}`,
    ask: (who) => `What is the local long form of the name of ${who}?`,
  },
  {
    key: 'local_short_form',
    label: 'Country name, local short form',
    values: names,
    ask: (who) => `What is the local short form of the name of ${who}?`,
  },
  {
    key: 'former_name',
    label: 'Country name, former',
    values: names,
    identify: (v) => `whose former name is ${v}`,
    ask: (who) => `What is the former name of ${who}?`,
  },
  { key: 'government', label: 'Government type', values: names, ask: (who) => `What is the government type of ${who}?` },
  { key: 'symbol', label: 'National symbol(s)', values: symbol, ask: (who) => `What is the national symbol of ${who}?` },
  {
    key: 'chief_of_state',
    label: 'Executive branch, chief of state',
    values: office,
    identify: (v) => `whose chief of state is ${v}`,
    ask: (who) => `Who is the chief of state of ${who}?`,
  },
  {
    key: 'head_of_government',
    label: 'Executive branch, head of government',
    values: office,
    identify: (v) => `whose head of government is ${v}`,
    ask: (who) => `Who is the head of government of ${who}?`,
  },
  {
    key: 'anthem_lyrics',
    label: 'National anthem, lyrics/music',
    values: author(0),
    identify: (v) => `whose national anthem has lyrics by ${v}`,
    ask: (who) => `Who wrote the lyrics of the national anthem of ${who}?`,
  },
  {
    key: 'anthem_music',
    label: 'National anthem, lyrics/music',
    values: author(1),
    identify: (v) => `whose national anthem has music by ${v}`,
    ask: (who) => `Who composed the music of the national anthem of ${who}?`,
  },
  {
    key: 'seaport',
    label: 'Ports and terminals, major seaport(s)',
    values: names,
    identify: (v) => `whose major seaport is ${v}`,
    ask: (who) => `What is the major seaport of ${who}?`,
  },
];

/** The values in the field of an attribute, verbatim; empty when the profile has no such field. */
export function valuesOf(profile: Profile, attribute: Attribute): readonly string[] {
  const text = fieldOf(profile, attribute.label);
  return text === undefined ? [] : attribute.values(text).filter((value) => text.includes(value));
}
