// Paths of pages: `/runs/:run/t/:trajectory` matches, and returns its decoded parameters.

export type PatternParts = Readonly<Record<string, string>>;

/** The parameters of a path that matches the pattern; otherwise undefined. */
export function matchPath(pattern: string, path: string): PatternParts | undefined {
  const wanted = pattern.split('/');
  const given = path.replace(/\/+$/, '').split('/');
  if (wanted.length !== (given.length === 0 ? 1 : given.length) && !(pattern === '/' && given.length === 1)) return undefined;
  const parts: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const value = given[at] ?? '';
    if (part.startsWith(':')) {
      const decoded = decode(value);
      if (decoded === undefined || decoded === '') return undefined;
      parts[part.slice(1)] = decoded;
    } else if (part !== value) return undefined;
  }
  return parts;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Builds an address from a path, its parameters, and the query parameters that have a value. */
export function address(
  pattern: string,
  parts: PatternParts = {},
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const path = pattern
    .split('/')
    .map((part) => (part.startsWith(':') ? encodeURIComponent(parts[part.slice(1)] ?? '') : part))
    .join('/');
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The address one level up: for a trajectory, the list that it was opened from. */
export function parentOf({ pathname, searchParams }: Pick<URL, 'pathname' | 'searchParams'>): string | undefined {
  const [kind, run, page, item] = pathname.split('/').filter((part) => part !== '');
  if (kind === undefined) return undefined;
  if (kind !== 'runs') return run === undefined ? '/' : `/${kind}`;
  if (run === undefined || page === undefined) return '/';
  const base = `/runs/${run}`;
  if (item === undefined || page === 'groups') return base;
  if (page !== 't') return `${base}/${page}`;
  const of = searchParams.get('of') ?? '';
  return `${base}/trajectories${of === '' ? '' : `?${of}`}`;
}
