// What a text is searched for: a text whatever its case, or a regular expression of RE2, whose time grows with the text alone.
import { Type } from 'typebox';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';

export interface Sought {
  readonly q?: string | undefined;
  readonly regex?: string | undefined;
}

export const soughtQuery = {
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'What to find, whatever the case; this or `regex`.' })),
  regex: Type.Optional(
    Type.String({ minLength: 1, maxLength: 500, description: 'A regular expression of RE2; `(?i)` at its beginning ignores the case.' }),
  ),
};

/** Throws REQUEST_INVALID unless one of both is given. */
export function assertSought({ q, regex }: Sought): void {
  if ((q === undefined) !== (regex === undefined)) return;
  throw new PlatformError('REQUEST_INVALID', 'reading the request: give one of the query parameters q and regex');
}

/** The text is bound as `sought`. */
export const soughtParams = ({ q, regex }: Sought): { readonly sought: string } => ({ sought: regex ?? q ?? '' });

/** SQL: whether the column holds it. */
export const holds = (column: string, { regex }: Sought): string =>
  regex === undefined ? `positionCaseInsensitiveUTF8(${column}, {sought:String}) > 0` : `match(${column}, {sought:String})`;

/** SQL: the part of a column that holds it that fits. */
export const partOf = (column: string, { regex }: Sought): string =>
  regex === undefined
    ? `substringUTF8(${column}, positionCaseInsensitiveUTF8(${column}, {sought:String}), lengthUTF8({sought:String}))`
    : // a group around all of it, because extract prefers groups
      `extract(${column}, concat('(', {sought:String}, ')'))`;

const CANNOT_COMPILE = 427;
const TOO_LONG = 159;

/** Runs a search; says what is wrong with the regular expression, or that it took too long. */
export async function searching<T>(search: () => Promise<T>): Promise<T> {
  try {
    return await search();
  } catch (cause) {
    const code = isPlatformError(cause) ? cause.context['clickhouseCode'] : undefined;
    if (code === CANNOT_COMPILE) {
      const said =
        /OptimizedRegularExpression: cannot compile re2: [^,]*, error: ([^.]*)/.exec(String(cause))?.[1] ?? 'it does not compile';
      throw new PlatformError('REQUEST_INVALID', `reading the request: query parameter regex is no regular expression of RE2: ${said}`, {
        cause,
      });
    }
    if (code === TOO_LONG) throw new PlatformError('SQL_LIMIT', 'searching the texts: it reached its limit of time; narrow it', { cause });
    throw cause;
  }
}
