// The place of the reader in a transcript: a turn and its distance from the top of the pane. Scrolling changes the place and then the
// selection, at most ten times a second; another selection changes the place. When turns above arrive or leave, the place is restored;
// if the reader had scrolled up to where turns were loading, the turn that has arrived at the top is selected.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { ApiOutline } from '../data/shapes.ts';
import type { VisibleRows } from '../kit/window.ts';
import { placeOf, rowAt } from './outline.ts';

const REPORT_MS = 100;
/** A turn of which less than this is left at the top counts as read. */
const EDGE_PX = 24;

interface ReadingPlace {
  readonly turn: number;
  readonly top: number;
}

interface ReadingView {
  readonly outline: ApiOutline;
  /** Index of the selected turn. */
  readonly at: number;
  /** The rows on the page. */
  readonly parts: readonly VisibleRows[];
  readonly onSelect: (at: number) => void;
}

/** The element of a turn in a transcript, if it is on the page. */
export const sectionOf = (pane: HTMLElement | null, turn: number): HTMLElement | null =>
  pane?.querySelector<HTMLElement>(`[data-turn="${turn}"]`) ?? null;

const distanceOf = (section: HTMLElement, pane: HTMLElement): number =>
  section.getBoundingClientRect().top - pane.getBoundingClientRect().top;

/** The turn at the top of the pane. */
function placeIn(pane: HTMLElement): ReadingPlace | undefined {
  for (const section of pane.querySelectorAll<HTMLElement>('[data-turn]')) {
    const top = distanceOf(section, pane);
    if (top + section.offsetHeight > EDGE_PX) return { turn: Number(section.dataset['turn']), top };
  }
  return undefined;
}

const isLoading = (pane: HTMLElement): boolean => pane.querySelector('.loading') !== null;

/** The last turn on the page if the reader is at its end, because short turns there never reach the top. */
function endOf(pane: HTMLElement): number | undefined {
  if (isLoading(pane) || pane.scrollTop + pane.clientHeight < pane.scrollHeight - 2) return undefined;
  const last = [...pane.querySelectorAll<HTMLElement>('[data-turn]')].at(-1);
  return last === undefined ? undefined : Number(last.dataset['turn']);
}

/** Keeps the selection and the scroll position of a pane together. Returns the handler of its scroll events. */
export function useReadingPlace(pane: { readonly current: HTMLElement | null }, view: ReadingView): () => void {
  const latest = useRef(view);
  latest.current = view;
  const { outline, at, parts } = view;
  const place = useRef<ReadingPlace>({ turn: rowAt(outline, at).turn, top: 0 });
  /** The scroll position that this code set: its event is not the reader's. */
  const settledAt = useRef(0);
  /** Index of the turn that was selected by scrolling to it. */
  const reached = useRef<number | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const stopTimer = (): void => {
    clearTimeout(timer.current);
    timer.current = undefined;
  };
  const report = (): void => {
    timer.current = undefined;
    const host = pane.current;
    const { outline: shown, at: before, onSelect } = latest.current;
    if (host === null) return;
    const to = placeOf(shown, endOf(host) ?? place.current.turn);
    if (to === before) return;
    reached.current = to;
    onSelect(to);
  };
  const follow = (host: HTMLElement): void => {
    place.current = placeIn(host) ?? place.current;
    timer.current ??= setTimeout(report, REPORT_MS);
  };
  const settle = (): void => {
    const host = pane.current;
    if (host === null) return;
    const section = sectionOf(host, place.current.turn);
    if (section !== null) host.scrollTop += distanceOf(section, host) - place.current.top;
    settledAt.current = host.scrollTop;
    if (place.current.top > EDGE_PX) follow(host);
  };
  useLayoutEffect(() => {
    const read = placeOf(outline, place.current.turn);
    const isKept = reached.current === at && parts.some(({ from, to }) => from <= read && read < to);
    if (!isKept) {
      stopTimer();
      place.current = { turn: rowAt(outline, at).turn, top: 0 };
    }
    reached.current = undefined;
    settle();
  }, [at]);
  useEffect(() => {
    const content = pane.current?.firstElementChild ?? null;
    if (content === null) return undefined;
    const watch = new ResizeObserver(settle);
    watch.observe(content);
    return () => {
      watch.disconnect();
      stopTimer();
    };
  }, []);
  return () => {
    const host = pane.current;
    if (host === null || Math.abs(host.scrollTop - settledAt.current) < 1) return;
    // until the turn of the place has loaded, the scroll position means nothing
    if (sectionOf(host, place.current.turn) === null && isLoading(host)) return;
    settledAt.current = NaN;
    follow(host);
  };
}
