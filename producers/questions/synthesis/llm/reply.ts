// Parses a model's reply into named texts. A reply can be anything; an unusable one is a value, never an exception.

/** Only the end of a reply is examined: what precedes it is reasoning. */
const SEEN_CHARS = 20_000;
/** Maximum opening braces to try, from the end. */
const STARTS = 64;
const ENDS = 8;

/** The last positions of a character, last first, at most `most`. */
function lastOf(text: string, character: string, most: number): readonly number[] {
  const places: number[] = [];
  for (let at = text.lastIndexOf(character); at >= 0 && places.length < most; at = at === 0 ? -1 : text.lastIndexOf(character, at - 1)) {
    places.push(at);
  }
  return places;
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';

/** The fields of the last JSON object of a reply that has all of them, nonempty; undefined when there is none. */
export function fieldsOf<K extends string>(reply: string, names: readonly K[]): Readonly<Record<K, string>> | undefined {
  const text = reply.slice(-SEEN_CHARS);
  const ends = lastOf(text, '}', ENDS);
  for (const start of lastOf(text, '{', STARTS)) {
    for (const end of ends.filter((at) => at > start)) {
      const object = objectIn(text.slice(start, end + 1));
      const fields = names.map((name) => [name, textOf(object?.[name])] as const);
      if (fields.every(([, value]) => value !== '')) return Object.fromEntries(fields) as Record<K, string>;
    }
  }
  return undefined;
}

/** Parses a yes or a no; undefined when it is neither. */
export function isYes(text: string): boolean | undefined {
  const word = /^(yes|no|true|false)\b/i.exec(text)?.[1]?.toLowerCase();
  return word === undefined ? undefined : word === 'yes' || word === 'true';
}
