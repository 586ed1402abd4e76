// What the panes beside the list of turns share: the marks of the search, and the key that goes from part to part of a turn.
import { useEffect, useRef } from 'preact/hooks';
import { useKeys } from '../shell/keys.ts';
import { patternOf } from './texts.ts';

/** Scrolls to the next of text, calls, and results, and after the last to the first. Returns the part that is shown. */
function showPart(turn: HTMLElement | null, wanted: number): number {
  const heads = turn?.querySelectorAll('h3') ?? [];
  const part = heads.length === 0 ? 0 : wanted % heads.length;
  heads[part]?.scrollIntoView({ block: 'start' });
  return part;
}

/** Adds the key that goes through the parts of the selected turn. */
export function usePartKey(elementOf: () => HTMLElement | null, turn: number): void {
  const part = useRef(0);
  useKeys('Turn', [
    { keys: ['t'], does: 'To the tool call and back', run: () => (part.current = showPart(elementOf(), part.current + 1)) },
  ]);
  useEffect(() => void (part.current = 0), [turn]);
}

const MOST_MARKS = 500;

/** The marked ranges of each element: all of them share one highlight. */
const marked = new Map<HTMLElement, readonly Range[]>();

function showMarks(): void {
  const ranges = [...marked.values()].flat();
  if (ranges.length === 0) CSS.highlights.delete('found');
  else CSS.highlights.set('found', new Highlight(...ranges));
}

/** Highlights a text in an element without changing the DOM. The returned function removes these marks. */
export function markMatches(element: HTMLElement | null, sought: string | undefined): (() => void) | undefined {
  if (!('highlights' in CSS) || element === null || sought === undefined || sought === '') return undefined;
  marked.set(element, rangesOf(element, patternOf(sought)));
  showMarks();
  return () => {
    marked.delete(element);
    showMarks();
  };
}

function rangesOf(element: HTMLElement, pattern: RegExp): readonly Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < MOST_MARKS; node = walker.nextNode()) {
    for (const { 0: match, index } of (node.nodeValue ?? '').matchAll(pattern)) {
      if (ranges.length === MOST_MARKS) break;
      const range = new Range();
      range.setStart(node, index);
      range.setEnd(node, index + match.length);
      ranges.push(range);
    }
  }
  return ranges;
}
