// What is searched for: a text, ignoring case, or an RE2 regular expression, whose time is linear in the length of the searched text.
import { Type } from 'typebox';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';

export interface Sought {
  readonly q?: string | undefined;
  readonly regex?: string | undefined;
}

export const soughtQuery = {
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Text to find, ignoring case. `q` or `regex` is required.' })),
  regex: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      description: 'RE2 regular expression to find; `(?i)` at its beginning ignores case. With `q` as well, the same text must match both.',
    }),
  ),
};

/** Throws REQUEST_INVALID when neither is given, which a schema of parameters cannot express. */
export function assertSought({ q, regex }: Sought): void {
  if (q !== undefined || regex !== undefined) return;
  throw new PlatformError('REQUEST_INVALID', 'reading the request: give the query parameter q or regex, or both');
}

/** Bound as `sought_text` and `sought_regex`. */
export const soughtParams = ({ q, regex }: Sought): Readonly<Record<string, string>> => ({
  ...(q === undefined ? {} : { sought_text: q }),
  ...(regex === undefined ? {} : { sought_regex: regex }),
});

/** SQL: whether the column contains everything that is sought. */
export const holds = (column: string, { q, regex }: Sought): string =>
  [
    ...(q === undefined ? [] : [`positionCaseInsensitiveUTF8(${column}, {sought_text:String}) > 0`]),
    ...(regex === undefined ? [] : [`match(${column}, {sought_regex:String})`]),
  ].join(' and ');

/** SQL: the part of a column that matches the regular expression, or else the text. */
export const partOf = (column: string, { regex }: Sought): string =>
  regex === undefined
    ? `substringUTF8(${column}, positionCaseInsensitiveUTF8(${column}, {sought_text:String}), lengthUTF8({sought_text:String}))`
    : // a group around all of it, because extract prefers groups
      `extract(${column}, concat('(', {sought_regex:String}, ')'))`;

const CANNOT_COMPILE = 427;

/** Runs a search; throws REQUEST_INVALID with what is wrong with the regular expression. */
export async function searching<T>(search: () => Promise<T>): Promise<T> {
  try {
    return await search();
  } catch (cause) {
    const code = isPlatformError(cause) ? cause.context['clickhouseCode'] : undefined;
    if (code === CANNOT_COMPILE) {
      const said =
        /OptimizedRegularExpression: cannot compile re2: [^,]*, error: ([^.]*)/.exec(String(cause))?.[1] ?? 'it does not compile';
      throw new PlatformError('REQUEST_INVALID', `reading the request: regex is not a valid RE2 regular expression: ${said}`, {
        cause,
      });
    }
    throw cause;
  }
}
