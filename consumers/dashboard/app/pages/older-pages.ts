// The pages after the first one of a list whose first page is live, requested one at a time. When the first page ends elsewhere, because
// rows were added at its top, they are requested again from there: no row is missing or shown twice.
import { useEffect, useState } from 'preact/hooks';
import { locked } from '../data/answers.ts';
import { ask, isPassing, type ApiProblem } from '../data/request.ts';
import type { ApiPage } from '../data/shapes.ts';

interface OlderPages<T> {
  readonly items: readonly T[];
  /** How many pages are loaded. */
  readonly pages: number;
  readonly next: string | null;
  readonly problem: ApiProblem | undefined;
}

interface ShownOlderPages<T> {
  readonly items: readonly T[];
  readonly isWhole: boolean;
  readonly loading: boolean;
  readonly problem: ApiProblem | undefined;
  readonly more: () => void;
}

const AGAIN_MS = 3_000;

/** `url` is the address of the first page, and `cursor` its end, null if that is also the end of the list. */
export function useOlderPages<T>(url: string, cursor: string | null): ShownOlderPages<T> {
  const [wanted, setWanted] = useState({ pages: 0 });
  const [older, setOlder] = useState<OlderPages<T>>({ items: [], pages: 0, next: null, problem: undefined });
  useEffect(() => {
    if (wanted.pages === 0) return undefined;
    let isCurrent = true;
    let later: ReturnType<typeof setTimeout> | undefined;
    const load = async (): Promise<void> => {
      const items: T[] = [];
      let next = cursor;
      for (let page = 0; page < wanted.pages && next !== null; page += 1) {
        const answer = await ask<ApiPage<T>>(`${url}&cursor=${next}`);
        if (!isCurrent) return;
        if (!answer.ok) {
          const { problem } = answer;
          if (problem.status === 401) locked.value = true;
          setOlder((before) => ({ ...before, problem }));
          if (isPassing(problem)) later = setTimeout(() => void load(), AGAIN_MS);
          return;
        }
        items.push(...answer.value.items);
        next = answer.value.next_cursor;
      }
      setOlder({ items, pages: wanted.pages, next, problem: undefined });
    };
    void load();
    return () => {
      isCurrent = false;
      clearTimeout(later);
    };
  }, [url, cursor, wanted]);
  return {
    items: older.items,
    isWhole: (older.pages === 0 ? cursor : older.next) === null,
    loading: older.pages < wanted.pages && older.problem === undefined,
    problem: older.problem,
    more: () => setWanted({ pages: older.pages + 1 }),
  };
}
