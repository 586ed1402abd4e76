// A list that grows by pages as one scrolls. Rows that are there stay where they are: what comes in live is counted and shown
// when the reader asks for it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, type ApiProblem } from '../data/request.ts';
import type { ApiPage } from '../data/shapes.ts';

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
}

export function usePages<T>(url: string): LoadedPages<T> {
  const [state, setState] = useState<PagesState<T>>({ url: '', items: [], next: null, problem: undefined });
  const [loading, setLoading] = useState(true);
  const wanted = useRef(url);
  const busy = useRef(false);
  const load = async (before: PagesState<T> | undefined): Promise<void> => {
    if (busy.current && before !== undefined) return;
    busy.current = true;
    setLoading(true);
    const cursor = before?.next === undefined || before.next === null ? '' : `&cursor=${before.next}`;
    const answer = await ask<ApiPage<T>>(`${url}${cursor}`);
    busy.current = false;
    if (wanted.current !== url) return;
    setLoading(false);
    if (answer.ok)
      setState({ url, items: [...(before?.items ?? []), ...answer.value.items], next: answer.value.next_cursor, problem: undefined });
    else setState({ url, items: before?.items ?? [], next: before?.next ?? null, problem: answer.problem });
  };
  useEffect(() => {
    wanted.current = url;
    void load(undefined);
  }, [url]);
  return {
    items: state.items,
    loading,
    isWhole: state.next === null,
    problem: state.problem,
    more: () => {
      if (state.url === url && state.next !== null) void load(state);
    },
    again: () => void load(undefined),
  };
}
