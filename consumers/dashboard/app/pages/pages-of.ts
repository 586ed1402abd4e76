// A list that loads more pages on scrolling. Loaded rows stay in place: new rows are counted, and shown when the reader asks for them. A
// list is restored if the reader returns to it within a minute of its last load; a page that failed to load is requested again.
import { useEffect, useRef, useState } from 'preact/hooks';
import { away, locked } from '../data/answers.ts';
import { ask, isPassing, type ApiProblem } from '../data/request.ts';
import type { ApiPage } from '../data/shapes.ts';
import { showing } from '../data/shown.ts';

export interface LoadedPages<T> {
  readonly items: readonly T[];
  readonly loading: boolean;
  readonly isWhole: boolean;
  readonly problem: ApiProblem | undefined;
  readonly more: () => void;
  readonly again: () => void;
}

interface PagesState<T> {
  readonly url: string;
  readonly items: readonly T[];
  readonly next: string | null;
  readonly problem: ApiProblem | undefined;
  readonly at: number;
}

const none = (url: string): PagesState<never> => ({ url, items: [], next: null, problem: undefined, at: -Infinity });

/** Loaded lists by address. */
const left = new Map<string, PagesState<unknown>>();
const MOST_LEFT = 10;
const SOON_MS = 60_000;
const AGAIN_MS = 3_000;

function leave(state: PagesState<unknown>): void {
  left.delete(state.url);
  left.set(state.url, state);
  for (const oldest of left.keys()) if (left.size > MOST_LEFT) left.delete(oldest);
}

/** The list if it was last loaded less than a minute ago. */
function leftAt<T>(url: string): PagesState<T> | undefined {
  const state = left.get(url) as PagesState<T> | undefined;
  return state !== undefined && performance.now() - state.at < SOON_MS ? state : undefined;
}

export function usePages<T>(url: string): LoadedPages<T> {
  const [state, setState] = useState<PagesState<T>>(() => leftAt<T>(url) ?? none(url));
  const [loading, setLoading] = useState(state.at === -Infinity);
  const wanted = useRef(url);
  const busy = useRef(false);
  const later = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const show = (next: PagesState<T>): void => {
    setState(next);
    if (next.problem === undefined) leave(next);
  };
  const load = async (before: PagesState<T> | undefined): Promise<void> => {
    if (busy.current && before !== undefined) return;
    busy.current = true;
    clearTimeout(later.current);
    setLoading(true);
    const cursor = before?.next === undefined || before.next === null ? '' : `&cursor=${before.next}`;
    const answer = await ask<ApiPage<T>>(`${url}${cursor}`);
    busy.current = false;
    if (wanted.current !== url) return;
    setLoading(false);
    if (answer.ok) {
      away.value = false;
      const items = [...(before?.items ?? []), ...answer.value.items];
      show({ url, items, next: answer.value.next_cursor, problem: undefined, at: performance.now() });
      return;
    }
    const { problem } = answer;
    if (problem.status === 401) locked.value = true;
    away.value = problem.status === 0;
    setState((now) => ({ ...(now.url === url ? now : none(url)), problem }));
    if (isPassing(problem)) later.current = setTimeout(() => void load(before), AGAIN_MS);
  };
  useEffect(() => {
    wanted.current = url;
    const known = leftAt<T>(url);
    if (known === undefined) void load(undefined);
    else setState(known);
    const hide = showing(url);
    return () => {
      wanted.current = '';
      clearTimeout(later.current);
      hide();
    };
  }, [url]);
  return {
    items: state.items,
    loading,
    isWhole: state.next === null,
    problem: state.problem,
    more: () => {
      if (state.url === url && state.next !== null && state.problem === undefined) void load(state);
    },
    again: () => void load(undefined),
  };
}
