// Addresses that a page requests first, known before its code is loaded.
import { axisOf, curvesUrl, mainCharts } from '../charts/figures.ts';
import { matchPath } from '../shell/patterns.ts';

/** Maximum number of points in a chart. */
export const POINTS = 400;

export const runsUrl = (status: string): string =>
  `/v1/runs?limit=200&fields=reward_spark${status === '' ? '' : `&status=${encodeURIComponent(status)}`}`;

const ofTrajectory = (id: string): string => `/v1/trajectories/${encodeURIComponent(id)}`;
export const reportUrl = (run: string, id: string): string => `${ofTrajectory(id)}?run=${encodeURIComponent(run)}`;
export const outlineUrl = (run: string, id: string, attempt: number): string =>
  `${ofTrajectory(id)}/outline?run=${encodeURIComponent(run)}&attempt=${attempt}`;

/** Turns in the first part of a long outline: more than a screen shows. */
const FIRST_TURNS = 500;

/** What a page requests first of an outline: only the first turns, unless the address needs others. */
export function firstOutlineUrl(outline: string, query: URLSearchParams): string {
  const needsOthers = Number(query.get('turn') ?? 0) >= FIRST_TURNS || query.has('find') || query.get('follow') === '1';
  return needsOthers ? outline : `${outline}&limit=${FIRST_TURNS}`;
}

const whole = (text: string | null): number | undefined => (text !== null && /^\d+$/.test(text) ? Number(text) : undefined);

const rangeOf = (query: URLSearchParams) => ({
  ...{ from: whole(query.get('from')), to: whole(query.get('to')) },
  ...{ points: POINTS, axis: axisOf(query.get('x')) },
});

/** The first requests of the page at an address. */
export function firstRequests({ pathname, searchParams: query }: URL): readonly string[] {
  if (pathname === '/') return [runsUrl(query.get('status') ?? '')];
  const run = matchPath('/runs/:run', pathname)?.['run'];
  if (run !== undefined) return [`/v1/runs/${encodeURIComponent(run)}`, curvesUrl(run, mainCharts, rangeOf(query))];
  const parts = matchPath('/runs/:run/t/:trajectory', pathname);
  if (parts === undefined) return [];
  const [of, id] = [parts['run'] ?? '', parts['trajectory'] ?? ''];
  const attempt = whole(query.get('attempt'));
  // without an attempt in the address, the report says which one counts
  return [reportUrl(of, id), ...(attempt === undefined ? [] : [firstOutlineUrl(outlineUrl(of, id, attempt), query)])];
}
