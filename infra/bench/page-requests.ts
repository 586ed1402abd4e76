// The pages that `npm run bench pages` requests: every GET route of the OpenAPI document, with values of a run, and variants of some of its
// parameters.

interface OpenApiParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly get?: { readonly parameters?: readonly OpenApiParameter[] } }>>;
}

/** Values of the run, by name of a parameter; `other evaluation` is what an evaluation is compared with. */
export type ParameterValues = ReadonlyMap<string, readonly string[]>;

export interface PageRequests {
  readonly name: string;
  /** The path of a request by its number; consecutive numbers give different paths if there are several values. */
  readonly at: (number: number) => string;
}

/** Endless streams, the caller's own session, and rows of a leased batch, which only runs of an external trainer have. */
const NOT_PAGES = /^\/v1\/(?:live|session|batches)/;
/** Without `run`, these routes search all runs, which takes longer. The bench gives it, because most users come from the page of a run. */
const OF_ONE_RUN = /^\/v1\/(?:trajectories|groups)\//;

/** These need a text or an expression. */
const FINDS = /\/find$/;

/** Every route that has one of these parameters is also requested with it: with `value`, or with the run's values of the name `values`. */
const variants: readonly { readonly name: string; readonly value?: string; readonly values?: string }[] = [
  { name: 'limit', value: '1' },
  { name: 'since_step', values: 'step' },
  { name: 'from_step', values: 'step' },
  { name: 'result', values: 'q' },
];

interface PageParameter {
  readonly name: string;
  readonly in: string;
  readonly values: readonly string[];
}

/** Parameters with their values, or the names of those that have none. */
type FilledPage = { readonly parameters: readonly PageParameter[] } | { readonly missing: readonly string[] };

function fill(
  path: string,
  wanted: readonly (OpenApiParameter & { readonly from?: readonly string[] })[],
  values: ParameterValues,
): FilledPage {
  const parameters = wanted.map(({ name, in: where, from }): PageParameter => {
    const key = name === 'with' && path.startsWith('/v1/evaluations') ? 'other evaluation' : name;
    return { name, in: where, values: from ?? values.get(key) ?? [] };
  });
  const missing = parameters.filter((parameter) => parameter.values.length === 0).map(({ name }) => name);
  return missing.length === 0 ? { parameters } : { missing };
}

function pathAt(path: string, parameters: readonly PageParameter[], number: number): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const { name, in: where, values } of parameters) {
    const value = values[(number * 7_919) % values.length] ?? '';
    if (where === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, value);
  }
  return query.size === 0 ? filled : `${filled}?${query.toString()}`;
}

interface WantedPage {
  readonly name: string;
  readonly path: string;
  readonly parameters: Parameters<typeof fill>[1];
}

/** A route with the parameters that it needs, and each of its variants. */
function* pagesOf(path: string, all: readonly OpenApiParameter[], values: ParameterValues): Generator<WantedPage, void, undefined> {
  const needed = all.filter(
    ({ name, in: where, required }) =>
      where === 'path' || required === true || (name === 'run' && OF_ONE_RUN.test(path)) || (name === 'q' && FINDS.test(path)),
  );
  yield { name: path, path, parameters: needed };
  for (const { name, value, values: from } of variants) {
    const given = value === undefined ? (values.get(from ?? '') ?? []) : [value];
    for (const parameter of all.filter((one) => one.name === name))
      yield { name: `${path}?${name}=${value ?? '…'}`, path, parameters: [...needed, { ...parameter, from: given }] };
  }
}

/** Throws if a route has a required parameter without values: a route that is left out would be taken for a fast one. */
export function pageRequestsOf({ paths }: OpenApiDocument, values: ParameterValues): readonly PageRequests[] {
  const skipped: string[] = [];
  const requests: PageRequests[] = [];
  const routes = Object.entries(paths).flatMap(([path, { get }]) =>
    get === undefined || !path.startsWith('/v1/') || NOT_PAGES.test(path) ? [] : [{ path, parameters: get.parameters ?? [] }],
  );
  for (const { name, path, parameters } of routes.flatMap((route) => [...pagesOf(route.path, route.parameters, values)])) {
    const page = fill(path, parameters, values);
    if ('missing' in page) skipped.push(`${name} (${page.missing.join(', ')})`);
    else requests.push({ name, at: (number) => pathAt(path, page.parameters, number) });
  }
  if (skipped.length > 0) throw new Error(`the run has no values for parameters of ${skipped.join(', ')}`);
  return requests;
}
