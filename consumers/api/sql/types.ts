// Types that a statement may name: in CAST and `::`, in functions that take a type as text, in {name:Type} and after `.:`. All other types
// are refused, above all aggregate states: the engine would deserialize them from the caller's bytes.

type Inside = 'nothing' | 'numbers' | 'zone' | 'values' | 'types' | 'named types';

const TYPES: ReadonlyMap<string, Inside> = new Map(
  (
    [
      [
        'nothing',
        `int8 int16 int32 int64 int128 int256 uint8 uint16 uint32 uint64 uint128 uint256 float32 float64 bfloat16 string uuid ipv4 ipv6 bool
        boolean date date32 nothing json dynamic integer int bigint smallint tinyint float double real text char varchar intervalnanosecond
        intervalmicrosecond intervalmillisecond intervalsecond intervalminute intervalhour intervalday intervalweek intervalmonth
        intervalquarter intervalyear time`,
      ],
      ['numbers', 'decimal decimal32 decimal64 decimal128 decimal256 numeric dec fixedstring time64'],
      ['zone', 'datetime datetime32 datetime64 timestamp'],
      ['values', 'enum enum8 enum16'],
      ['types', 'array nullable lowcardinality map'],
      ['named types', 'tuple'],
    ] as const
  ).flatMap(([inside, names]) => names.split(/\s+/).map((name) => [name, inside] as const)),
);

const MAX_DEPTH = 20;
const MAX_NUMBER = 10_000;
const TOKEN = /\s*(?:([A-Za-z_]\w*)|(`[^`\\]*`|"[^"\\]*")|('(?:[^'\\]|\\.|'')*')|(-?\d+)|([(),=]))/y;

/** True for text in the form of an IANA time zone name; false for text that the engine may open as a file (`file:…`, a path). */
export const isZone = (text: string): boolean => /^[A-Za-z][\w+-]*(?:\/[A-Za-z][\w+-]*){0,2}$/.test(text);

/** True for a listed type whose inner types are listed as well. */
export function isAllowedType(text: string): boolean {
  const tokens = tokensOf(text);
  if (tokens === undefined) return false;
  const reader = new TypeReader(tokens);
  return reader.type(0) && reader.isAtEnd();
}

function tokensOf(text: string): readonly string[] | undefined {
  const tokens: string[] = [];
  const trimmed = text.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < trimmed.length) {
    const match = TOKEN.exec(trimmed);
    if (match === null) return undefined;
    tokens.push(match[0].trimStart());
  }
  return tokens;
}

/** Parses the arguments in the parentheses of a type according to that type. */
class TypeReader {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  type(depth: number): boolean {
    const name = this.#next().toLowerCase();
    const inside = TYPES.get(name);
    if (inside === undefined || depth > MAX_DEPTH) return false;
    if (name === 'double') this.#take(/^precision$/i);
    if (!this.#take(/^\($/)) return inside !== 'types';
    if (inside === 'nothing') return false;
    do {
      if (!this.#inner(inside, depth)) return false;
    } while (this.#take(/^,$/));
    return this.#take(/^\)$/);
  }

  #inner(inside: Exclude<Inside, 'nothing'>, depth: number): boolean {
    if (inside === 'types') return this.type(depth + 1);
    if (inside === 'named types') {
      if (/^[\w`"]/.test(this.#tokens[this.#at + 1] ?? '')) this.#at += 1;
      return this.type(depth + 1);
    }
    return this.#value(inside);
  }

  #value(inside: 'numbers' | 'zone' | 'values'): boolean {
    const token = this.#next();
    if (!token.startsWith("'")) return inside !== 'values' && /^\d+$/.test(token) && Number(token) <= MAX_NUMBER;
    if (inside === 'zone') return isZone(token.slice(1, -1));
    return inside === 'values' && (!this.#take(/^=$/) || this.#take(/^-?\d+$/));
  }

  #next(): string {
    return this.#tokens[this.#at++] ?? '';
  }

  #take(pattern: RegExp): boolean {
    if (!pattern.test(this.#tokens[this.#at] ?? '')) return false;
    this.#at += 1;
    return true;
  }
}
