// Answers that pages share: one entry an address, kept while it is loaded again, so that nothing flickers and a page that is
// opened again is there at once. An answer that cannot be had now stays as it was, with the problem beside it.
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ask, isPassing, type ApiProblem } from './request.ts';

export interface Loadable<T> {
  /** The newest that is known. */
  readonly value: T | undefined;
  readonly problem: ApiProblem | undefined;
  readonly loading: boolean;
}

interface CachedQuery {
  readonly shown: Signal<Loadable<unknown>>;
  users: number;
  at: number;
  again: ReturnType<typeof setTimeout> | undefined;
}

const entries = new Map<string, CachedQuery>();
const MOST_ENTRIES = 200;
/** An answer this young is not asked for again when another page opens, ms. */
const FRESH_MS = 2_000;
const AGAIN_MS = 3_000;

/** Nobody is signed in: the shell shows the sign-in page. */
export const locked = signal(false);
/** The API did not answer the last request. */
export const away = signal(false);

function entryOf(url: string): CachedQuery {
  const known = entries.get(url);
  if (known !== undefined) return known;
  const entry: CachedQuery = {
    shown: signal({ value: undefined, problem: undefined, loading: true }),
    users: 0,
    at: -Infinity,
    again: undefined,
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
  entry.at = performance.now();
  clearTimeout(entry.again);
  entry.shown.value = { ...entry.shown.peek(), loading: true };
  const answer = await ask<unknown>(url);
  if (answer.ok) {
    away.value = false;
    locked.value = false;
    entry.shown.value = { value: answer.value, problem: undefined, loading: false };
    return;
  }
  const { problem } = answer;
  if (problem.status === 401) locked.value = true;
  away.value = problem.status === 0;
  entry.shown.value = { value: entry.shown.peek().value, problem, loading: false };
  if (isPassing(problem) && entry.users > 0) entry.again = setTimeout(() => void load(url, entry), AGAIN_MS);
}

const nothing: ReadonlySignal<Loadable<never>> = signal({ value: undefined, problem: undefined, loading: false });

/** The answer at an address, loaded while the component is shown; none for undefined. */
export function useAnswer<T>(url: string | undefined): Loadable<T> {
  const shown = useMemo(() => (url === undefined ? nothing : entryOf(url).shown), [url]);
  useEffect(() => {
    if (url === undefined) return undefined;
    const entry = entryOf(url);
    entry.users += 1;
    if (performance.now() - entry.at > FRESH_MS) void load(url, entry);
    return () => {
      entry.users -= 1;
    };
  }, [url]);
  return shown.value as Loadable<T>;
}

/** Loads again what is shown and starts with one of these; all of it when none is given. */
export function refresh(...prefixes: readonly string[]): void {
  for (const [url, entry] of entries) {
    const meant = prefixes.length === 0 || prefixes.some((prefix) => url.startsWith(prefix));
    if (!meant) continue;
    if (entry.users > 0) void load(url, entry);
    else entry.at = -Infinity;
  }
}

/** Addresses of the answers that are on the page. */
export const shownAnswers = (): readonly string[] => [...entries].flatMap(([url, { users }]) => (users > 0 ? [url] : []));
