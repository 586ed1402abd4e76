// The canvas of the flow. The time window is in the address. The wheel zooms, dragging moves, and a click opens a trajectory; keys do the
// same. If not all lanes fit, they scroll: the canvas stays in place and draws those that are visible.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { drawFlow, headPx } from '../charts/flow.ts';
import { barAt, boundOf, moveWindow, nextBar, type FlowLayout } from '../charts/flow-layout.ts';
import { firstAt } from '../data/first-at.ts';
import type { ApiFlow } from '../data/watch-shapes.ts';
import { duration, figure, versions } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { visible } from '../kit/visible.ts';
import { openKeys, useKeys } from '../shell/keys.ts';
import { address } from '../shell/patterns.ts';
import { change, go, numberParameter } from '../shell/place.ts';

/** Number of the newest trajectories in the first view. */
const FIRST_BARS = 300;
const MOST_PX = 560;
/** Height of all lanes together, unless a lane would be too low or too high. */
const LANES_PX = 520;

interface FlowCanvasProps {
  readonly run: string;
  readonly flow: ApiFlow;
  readonly layout: FlowLayout;
  readonly longestMs: number;
  readonly fates: ReadonlySet<string>;
}

export function FlowCanvas({ run, flow, layout, longestMs, fates }: FlowCanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState(-1);
  const lanePx = Math.max(2, Math.min(14, LANES_PX / Math.max(1, layout.lanes)));
  const wholePx = Math.ceil(headPx + layout.lanes * lanePx + 4);
  const height = Math.min(MOST_PX, wholePx);
  const { view, paint, move } = useWindow({ flow, layout }, (shown) => {
    const scrolledPx = scroller.current?.scrollTop ?? 0;
    if (canvas.current !== null)
      drawFlow(canvas.current, { flow, layout, view: { ...shown, longestMs, lanePx, scrolledPx, pointed, fates } });
  });
  useEffect(() => setPointed(-1), [flow]);
  useEffect(paint, [pointed, [...fates].join()]);
  useEffect(() => {
    const box = canvas.current;
    if (box === null) return undefined;
    const watch = new ResizeObserver(paint);
    watch.observe(box);
    const unlisten = listenToWheel(box, view, move);
    return () => {
      watch.disconnect();
      unlisten();
    };
  }, []);
  const scrollBy = (px: number): void => {
    if (scroller.current !== null) scroller.current.scrollTop += px;
  };
  const show = (bar: number): void => {
    setPointed(bar);
    const [start, { fromMs, toMs }] = [flow.columns['start_ms']?.[bar] ?? 0, view.current];
    if (start < fromMs || start > toMs) move({ panMs: start - (fromMs + toMs) / 2 });
    const top = (layout.laneOf[bar] ?? 0) * lanePx - (scroller.current?.scrollTop ?? 0);
    scrollBy(Math.min(0, top) + Math.max(0, top + lanePx - (height - headPx - 4)));
  };
  const linkOf = (bar: number): string =>
    address('/runs/:run/t/:trajectory', { run, trajectory: flow.ids[bar] ?? '' }, { attempt: flow.columns['attempt']?.[bar] });
  useFlowKeys(layout, view, move);
  useBarKeys({ flow, fates, pointed, view, show, linkOf, scroll: wholePx > height ? scrollBy : undefined });
  const at = (event: MouseEvent): number => {
    const { fromMs, toMs } = view.current;
    const ms = fromMs + (event.offsetX / (canvas.current?.clientWidth ?? 1)) * (toMs - fromMs);
    const lane = Math.floor((event.offsetY - headPx + (scroller.current?.scrollTop ?? 0)) / lanePx);
    return event.offsetY < headPx ? -1 : barAt(flow, layout, { lane, ms, longestMs });
  };
  const pointer = usePointer({
    onPoint: (event) => setPointed(event === undefined ? -1 : at(event)),
    onDrag: (px, py) => {
      scrollBy(-py);
      move({ panMs: (-px * (view.current.toMs - view.current.fromMs)) / (canvas.current?.clientWidth ?? 1) });
    },
    onClick: (event) => {
      const bar = at(event);
      if (bar >= 0) go(linkOf(bar));
    },
  });
  const { fromMs, toMs } = view.current;
  return (
    <>
      <div ref={scroller} class="lanes" role="region" aria-label="Lanes" tabIndex={0} style={{ height: `${height}px` }} onScroll={paint}>
        <div style={{ height: `${wholePx}px` }}>
          <canvas
            ref={canvas}
            class="flow"
            style={{ height: `${height}px` }}
            role="img"
            aria-label={`${flow.trajectories} trajectories and ${flow.steps.numbers.length} steps from ${new Date(layout.startMs).toISOString()} to ${new Date(layout.endMs).toISOString()}`}
            {...pointer}
          />
        </div>
      </div>
      {wholePx > height && (
        <p class="note">
          Not all of the {figure(layout.lanes)} lanes fit: drag, use the scroll bar, or press <kbd>↑</kbd> and <kbd>↓</kbd> for the others.
        </p>
      )}
      <p class="note" role="status">
        {pointed < 0 ? (
          `${new Date(fromMs).toISOString().slice(0, 19)} to ${new Date(toMs).toISOString().slice(0, 19)}, ${duration(toMs - fromMs)}`
        ) : (
          <Bar flow={flow} at={pointed} end={layout.ends[pointed] ?? 0} />
        )}
      </p>
    </>
  );
}

interface TimeWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Held<T> {
  readonly current: T;
}

type MoveWindow = (by: Parameters<typeof moveWindow>[2]) => void;

interface ShownWindow {
  readonly view: Held<TimeWindow>;
  /** Draws in the next frame. */
  readonly paint: () => void;
  readonly move: MoveWindow;
}

/** The time window in the address. The view moves at once; the address is updated when the view comes to rest. */
function useWindow({ flow, layout }: Pick<FlowCanvasProps, 'flow' | 'layout'>, draw: (view: TimeWindow) => void): ShownWindow {
  const [fromAsked, toAsked] = [numberParameter('from'), numberParameter('to')];
  const recent = flow.columns['start_ms']?.at(-FIRST_BARS) ?? layout.startMs;
  const asked =
    fromAsked !== undefined && toAsked !== undefined ? { fromMs: fromAsked, toMs: toAsked } : { fromMs: recent, toMs: layout.endMs };
  const view = useRef<TimeWindow>(asked);
  const [, redraw] = useState(0);
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const frame = useRef(0);
  // the listeners of the canvas outlive a render, and use the values of the latest one
  const latest = useRef({ draw, layout });
  latest.current = { draw, layout };
  const paint = (): void => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => latest.current.draw(view.current));
  };
  const move: MoveWindow = (by) => {
    view.current = moveWindow(view.current, latest.current.layout, by);
    paint();
    clearTimeout(settle.current);
    settle.current = setTimeout(() => {
      change({ from: Math.round(view.current.fromMs), to: Math.round(view.current.toMs) });
      redraw((count) => count + 1);
    }, 200);
  };
  useEffect(() => {
    view.current = asked;
    paint();
  }, [flow, fromAsked, toAsked]);
  useEffect(
    () => () => {
      clearTimeout(settle.current);
      cancelAnimationFrame(frame.current);
    },
    [],
  );
  return { view, paint, move };
}

function useFlowKeys(layout: FlowLayout, view: Held<TimeWindow>, move: MoveWindow): void {
  useKeys('Flow', [
    { keys: ['z'], does: 'Show all of it', run: () => change({ from: Math.round(layout.startMs), to: Math.round(layout.endMs) }) },
    { keys: ['h', 'ArrowLeft'], does: 'Earlier', run: () => move({ panMs: (view.current.fromMs - view.current.toMs) / 4 }) },
    { keys: ['l', 'ArrowRight'], does: 'Later', run: () => move({ panMs: (view.current.toMs - view.current.fromMs) / 4 }) },
    { keys: ['+', 'k'], does: 'Closer', run: () => move({ zoom: 0.5 }) },
    { keys: ['-', 'j'], does: 'Further', run: () => move({ zoom: 2 }) },
  ]);
}

interface BarKeys extends Pick<FlowCanvasProps, 'flow' | 'fates'> {
  readonly pointed: number;
  readonly view: Held<TimeWindow>;
  readonly show: (bar: number) => void;
  readonly linkOf: (bar: number) => string;
  /** Undefined if all lanes fit. */
  readonly scroll: ((px: number) => void) | undefined;
}

/** Shortcuts that select a bar, from the edge of the window on if none is selected, and open it. */
function useBarKeys({ flow, fates, pointed, view, show, linkOf, scroll }: BarKeys): void {
  const step = (by: 1 | -1): void => {
    const starts = flow.columns['start_ms'] ?? [];
    const edge = by === 1 ? firstAt(starts, view.current.fromMs) - 1 : firstAt(starts, view.current.toMs);
    const bar = nextBar(flow, pointed < 0 ? edge : pointed, { by, fates });
    if (bar >= 0) show(bar);
  };
  useKeys('Trajectories', [
    { keys: ['n'], does: 'Next trajectory', run: () => step(1) },
    { keys: ['p'], does: 'Previous trajectory', run: () => step(-1) },
    ...openKeys(() => (pointed < 0 ? undefined : linkOf(pointed))),
    ...(scroll === undefined
      ? []
      : [
          { keys: ['ArrowUp'], does: 'Upper lanes', run: () => scroll(-MOST_PX / 2) },
          { keys: ['ArrowDown'], does: 'Lower lanes', run: () => scroll(MOST_PX / 2) },
        ]),
  ]);
}

interface PointerUses {
  /** Undefined: the pointer left. */
  readonly onPoint: (event: PointerEvent | undefined) => void;
  readonly onDrag: (px: number, py: number) => void;
  readonly onClick: (event: PointerEvent) => void;
}

interface DragState {
  readonly x: number;
  readonly y: number;
  readonly hasMoved: boolean;
}

/** Tells pointing, dragging, and clicking apart. */
function usePointer({ onPoint, onDrag, onClick }: PointerUses) {
  const drag = useRef<DragState | undefined>(undefined);
  const last = useRef({ x: -1, y: -1 });
  return {
    onPointerDown: (event: PointerEvent & { readonly currentTarget: Element }): void => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      drag.current = { x: event.clientX, y: event.clientY, hasMoved: false };
    },
    onPointerMove: (event: PointerEvent): void => {
      const { clientX: x, clientY: y } = event;
      // a browser also sends a move when something scrolls under a pointer that rests
      const isResting = x === last.current.x && y === last.current.y;
      last.current = { x, y };
      const from = drag.current;
      if (from === undefined) {
        if (!isResting) onPoint(event);
        return;
      }
      if (Math.abs(x - from.x) < 2 && Math.abs(y - from.y) < 2) return;
      drag.current = { x, y, hasMoved: true };
      onDrag(x - from.x, y - from.y);
    },
    onPointerUp: (event: PointerEvent): void => {
      const from = drag.current;
      drag.current = undefined;
      if (from?.hasMoved === false) onClick(event);
    },
    onPointerCancel: (): void => {
      drag.current = undefined;
    },
    onPointerLeave: (): void => {
      if (drag.current === undefined) onPoint(undefined);
    },
  };
}

/** The wheel zooms at the pointer; with shift, it scrolls. */
function listenToWheel(box: HTMLCanvasElement, view: Held<TimeWindow>, move: MoveWindow): () => void {
  const onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    const { fromMs, toMs } = view.current;
    const msPerPx = (toMs - fromMs) / box.clientWidth;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move({ panMs: (event.deltaX || event.deltaY) * msPerPx });
    else move({ zoom: Math.exp(event.deltaY / 400), aboutMs: fromMs + event.offsetX * msPerPx });
  };
  // a passive listener could not prevent the page from scrolling
  box.addEventListener('wheel', onWheel, { passive: false });
  return () => box.removeEventListener('wheel', onWheel);
}

function Bar({ flow, at, end }: { readonly flow: ApiFlow; readonly at: number; readonly end: number }): JSX.Element {
  const of = (name: string): number => flow.columns[name]?.[at] ?? -1;
  const fate = flow.fates[of('fate')] ?? '';
  const reason = flow.reasons[of('reason')] ?? '';
  const decided = of('decided_ms');
  return (
    <>
      <Text>{flow.ids[at] ?? ''}</Text> {versions(of('version_first'), of('version_last'))}, flew {duration(end - of('start_ms'))}
      {decided > end && `, waited ${duration(decided - end)}`}, {fate}
      {reason === '' ? '' : `: ${visible(reason.replaceAll('_', ' '))}`}
      {of('step') >= 0 && `, ${fate === 'collected' ? 'batch' : 'step'} ${of('step')}`}
      {of('staleness') >= 0 && `, staleness ${of('staleness')}`}
      {flow.max_staleness !== null && `, bound ${boundText(flow, at)}`}, <Text>{flow.workers[of('worker')] ?? ''}</Text>
    </>
  );
}

function boundText(flow: ApiFlow, bar: number): string {
  const until = boundOf(flow, bar);
  return until === undefined
    ? `of ${flow.max_staleness ?? 0} versions not reached`
    : `reached ${duration(until - (flow.columns['start_ms']?.[bar] ?? 0))} after its start`;
}
