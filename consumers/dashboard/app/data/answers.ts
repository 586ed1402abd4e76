// A cache of responses that pages share, one entry per address. An entry is kept during a reload, so that nothing flickers and a page that
// is opened again appears at once. If a request fails, the old value stays, together with the problem. A value that did not change remains
// the same object, so that nothing is rendered again.
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { isUnder, waitFor } from './answer-cache.ts';
import { askText, isPassing, parsed, type ApiProblem } from './request.ts';

export interface Loadable<T> {
  /** The latest value. */
  readonly value: T | undefined;
  readonly problem: ApiProblem | undefined;
}

interface CachedQuery {
  readonly shown: Signal<Loadable<unknown>>;
  users: number;
  askedAtMs: number;
  tookMs: number;
  text: string;
  /** One request runs at a time; requests made meanwhile are combined into the next one. */
  state: 'idle' | 'asking' | 'asking-stale';
  again: ReturnType<typeof setTimeout> | undefined;
}

const entries = new Map<string, CachedQuery>();
const MOST_ENTRIES = 200;
/** A response younger than this is not requested again when another page opens, ms. */
const FRESH_MS = 2_000;
const AGAIN_MS = 3_000;

/** True if nobody is signed in: the shell then shows the sign-in page. */
export const locked = signal(false);
/** True if the API did not respond to the last request. */
export const away = signal(false);

function entryOf(url: string): CachedQuery {
  const known = entries.get(url);
  if (known !== undefined) return known;
  const entry: CachedQuery = {
    shown: signal({ value: undefined, problem: undefined }),
    ...{ users: 0, askedAtMs: -Infinity, tookMs: 0, text: '', state: 'idle', again: undefined },
  };
  entries.set(url, entry);
  if (entries.size > MOST_ENTRIES) forget();
  return entry;
}

function forget(): void {
  for (const [url, entry] of entries) {
    if (entries.size <= MOST_ENTRIES) return;
    if (entry.users === 0) entries.delete(url);
  }
}

async function load(url: string, entry: CachedQuery): Promise<void> {
  if (entry.state !== 'idle') {
    entry.state = 'asking-stale';
    return;
  }
  clearTimeout(entry.again);
  entry.again = undefined;
  entry.state = 'asking';
  entry.askedAtMs = performance.now();
  const answer = await askText(url);
  entry.tookMs = performance.now() - entry.askedAtMs;
  const isStale = (entry.state as CachedQuery['state']) === 'asking-stale';
  entry.state = 'idle';
  const before = entry.shown.peek();
  const result = answer.ok && answer.value !== entry.text ? parsed<unknown>(answer.value) : answer;
  if (!result.ok) {
    const { problem } = result;
    if (problem.status === 401) locked.value = true;
    away.value = problem.status === 0;
    entry.shown.value = { value: before.value, problem };
    if (isPassing(problem) && entry.users > 0) entry.again = setTimeout(() => void load(url, entry), AGAIN_MS);
    return;
  }
  away.value = false;
  locked.value = false;
  if (answer.ok && answer.value !== entry.text) {
    entry.text = answer.value;
    entry.shown.value = { value: result.value, problem: undefined };
  } else if (before.problem !== undefined) entry.shown.value = { ...before, problem: undefined };
  if (isStale) refreshOne(url, entry);
}

const nothing: ReadonlySignal<Loadable<never>> = signal({ value: undefined, problem: undefined });

function loadUnlessFresh(url: string): CachedQuery {
  const entry = entryOf(url);
  // a failed preload is discarded, so that the page requests the data itself
  const isOld = performance.now() - entry.askedAtMs > FRESH_MS || entry.shown.peek().problem !== undefined;
  if (entry.state === 'idle' && isOld) void load(url, entry);
  return entry;
}

/** Sends the first requests of a page that is about to open. */
export function prefetch(urls: readonly string[]): void {
  for (const url of urls) loadUnlessFresh(url);
}

/** True once there is a response or a problem. Less urgent requests of a page wait for that, because they would slow down the others. */
export const isSettled = ({ value, problem }: Loadable<unknown>): boolean => value !== undefined || problem !== undefined;

/**
 * The response for an address, loaded while the component is mounted; nothing for undefined. With `keep`, the value of the previous address
 * is shown until the new one arrives.
 */
export function useAnswer<T>(url: string | undefined, { keep = false }: { readonly keep?: boolean } = {}): Loadable<T> {
  const shown = useMemo(() => (url === undefined ? nothing : entryOf(url).shown), [url]);
  const kept = useRef<T | undefined>(undefined);
  useEffect(() => {
    if (url === undefined) return undefined;
    entryOf(url).users += 1;
    const entry = loadUnlessFresh(url);
    return () => {
      entry.users -= 1;
    };
  }, [url]);
  const now = shown.value as Loadable<T>;
  if (!keep) return now;
  if (now.value !== undefined) kept.current = now.value;
  return now.value === undefined && kept.current !== undefined ? { ...now, value: kept.current } : now;
}

/** Slow responses are requested less often. */
function refreshOne(url: string, entry: CachedQuery): void {
  if (entry.again !== undefined) return;
  const waitMs = waitFor(performance.now(), entry);
  if (waitMs === 0) void load(url, entry);
  else {
    entry.again = setTimeout(() => {
      entry.again = undefined;
      if (entry.users > 0) void load(url, entry);
      else entry.askedAtMs = -Infinity;
    }, waitMs);
  }
}

/** Reloads the responses on the page whose address is affected; all of them if no address is given. */
export function refresh(...prefixes: readonly string[]): void {
  for (const [url, entry] of entries) {
    const meant = prefixes.length === 0 || prefixes.some((prefix) => isUnder(url, prefix));
    if (!meant) continue;
    if (entry.users > 0) refreshOne(url, entry);
    else entry.askedAtMs = -Infinity;
  }
}

/** Addresses of the responses on the page. */
export const shownAnswers = (): readonly string[] => [...entries].flatMap(([url, { users }]) => (users > 0 ? [url] : []));
