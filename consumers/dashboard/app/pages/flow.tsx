// Trajectories over wall-clock time: the versions that generated each, when weights were published, and what became too stale. The time
// window is in the address. The wheel zooms, dragging moves, and a click opens a trajectory.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { drawFlow, headPx } from '../charts/flow.ts';
import { barAt, boundOf, longestOf, moveWindow, packFlow, type FlowLayout } from '../charts/flow-layout.ts';
import { refresh, useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiFlow } from '../data/watch-shapes.ts';
import { duration, figure, versions } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { useKeys } from '../shell/keys.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, go, numberParameter, parameter } from '../shell/place.ts';
import { FlowStrip } from './flow-strip.tsx';

const MOST = 50_000;
/** Number of the newest trajectories in the first view. */
const FIRST_BARS = 300;

export function FlowPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const until = parameter('until');
  const shown = useAnswer<ApiFlow>(runUrl(run, `/flow?limit=${MOST}${until === undefined ? '' : `&to=${encodeURIComponent(until)}`}`));
  const [news, setNews] = useState(0);
  useLive({ run, types: ['TrajectoryFinished', 'StepCompleted'], onEvent: () => setNews((count) => count + 1) });
  const showNews = (): void => {
    setNews(0);
    refresh(runUrl(run, '/flow'));
  };
  const beside = news > 0 && (
    <button type="button" class="chip live" onClick={showNews}>
      {figure(news)} events since: show
    </button>
  );
  return (
    <RunPage run={run} title="Flow" beside={beside}>
      <Waiting shown={shown} of="the flow">
        {(flow) => (flow.trajectories === 0 ? <Empty>No trajectory has started yet.</Empty> : <Board run={run} flow={flow} />)}
      </Waiting>
    </RunPage>
  );
}

const fateNotes: Readonly<Record<string, string>> = {
  trained: 'a step learned from it',
  discarded: 'finished, never trained on',
  lost: 'given up before it finished',
  open: 'finished, not decided',
  running: 'not finished',
};

function Board({ run, flow }: { readonly run: string; readonly flow: ApiFlow }): JSX.Element {
  const nowMs = useMemo(
    () => Math.max(...(flow.columns['end_ms'] ?? [0]).slice(-5_000), flow.columns['start_ms']?.at(-1) ?? 0) + 1_000,
    [flow],
  );
  const layout = useMemo(() => packFlow(flow, nowMs), [flow, nowMs]);
  const longestMs = useMemo(() => longestOf(flow, nowMs), [flow, nowMs]);
  const hidden = (parameter('hide') ?? '').split(',');
  const fates = new Set(flow.fates.filter((fate) => !hidden.includes(fate)));
  const counts = useMemo(() => countsOf(flow), [flow]);
  const toggle = (fate: string): void =>
    change({ hide: (hidden.includes(fate) ? hidden.filter((one) => one !== fate) : [...hidden, fate]).filter(Boolean).join(',') });
  useKeys(
    'Flow',
    flow.fates.map((fate, at) => ({ keys: [String(at + 1)], does: `Show or dim: ${fate}`, run: () => toggle(fate) })),
  );
  const first = new Date(layout.startMs).toISOString();
  return (
    <>
      <p class="note">
        {flow.is_whole ? `All ${figure(flow.trajectories)} trajectories` : `The newest ${figure(flow.trajectories)} trajectories`}, up to{' '}
        {figure(layout.lanes)} at once, bound {figure(flow.max_staleness)} versions. Colors are versions, lines are publications, green
        ticks are the {figure(flow.steps.numbers.length)} steps, a thin line is the wait for one. Wheel: zoom. Drag: move. Click: open.{' '}
        {!flow.is_whole && (
          <button type="button" class="chip" onClick={() => change({ until: first, from: undefined, to: undefined }, true)}>
            Earlier
          </button>
        )}
      </p>
      <div class="chips" role="group" aria-label="Fates">
        {flow.fates.map((fate, at) => (
          <button
            key={fate}
            type="button"
            class={`chip fate-${fate}`}
            aria-pressed={fates.has(fate)}
            title={fateNotes[fate]}
            onClick={() => toggle(fate)}
          >
            {fate} {figure(counts[at] ?? 0)} <kbd>{at + 1}</kbd>
          </button>
        ))}
      </div>
      {(!flow.is_whole || parameter('until') !== undefined) && <FlowStrip run={run} flow={flow} />}
      <Canvas run={run} flow={flow} layout={layout} longestMs={longestMs} fates={fates} />
      <Reasons flow={flow} run={run} />
    </>
  );
}

function countsOf(flow: ApiFlow): readonly number[] {
  const counts = flow.fates.map(() => 0);
  for (const fate of flow.columns['fate'] ?? []) counts[fate] = (counts[fate] ?? 0) + 1;
  return counts;
}

interface CanvasProps {
  readonly run: string;
  readonly flow: ApiFlow;
  readonly layout: FlowLayout;
  readonly longestMs: number;
  readonly fates: ReadonlySet<string>;
}

function Canvas({ run, flow, layout, longestMs, fates }: CanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState(-1);
  const [fromAsked, toAsked] = [numberParameter('from'), numberParameter('to')];
  const recent = flow.columns['start_ms']?.at(-FIRST_BARS) ?? layout.startMs;
  const view = useRef({ fromMs: fromAsked ?? recent, toMs: toAsked ?? layout.endMs });
  const [, redraw] = useState(0);
  const lanePx = Math.max(2, Math.min(14, 520 / Math.max(1, layout.lanes)));
  const height = Math.min(560, headPx + layout.lanes * lanePx + 4);
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const frame = useRef(0);
  const paint = (): void => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      if (canvas.current !== null) drawFlow(canvas.current, { flow, layout, view: { ...view.current, longestMs, lanePx, pointed, fates } });
    });
  };
  const move = (by: Parameters<typeof moveWindow>[2]): void => {
    view.current = moveWindow(view.current, layout, by);
    paint();
    clearTimeout(settle.current);
    settle.current = setTimeout(() => {
      change({ from: Math.round(view.current.fromMs), to: Math.round(view.current.toMs) });
      redraw((count) => count + 1);
    }, 200);
  };
  useEffect(() => {
    if (fromAsked !== undefined && toAsked !== undefined) view.current = { fromMs: fromAsked, toMs: toAsked };
    else view.current = { fromMs: recent, toMs: layout.endMs };
    paint();
  }, [flow, fromAsked, toAsked]);
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
  }, [flow, layout]);
  useFlowKeys(layout, view, move);
  const drag = useRef<number | undefined>(undefined);
  const moved = useRef(false);
  const at = (event: MouseEvent): number => {
    const { fromMs, toMs } = view.current;
    const ms = fromMs + (event.offsetX / (canvas.current?.clientWidth ?? 1)) * (toMs - fromMs);
    return barAt(flow, layout, { lane: Math.floor((event.offsetY - headPx) / lanePx), ms, longestMs });
  };
  const linkOf = (bar: number): string =>
    address('/runs/:run/t/:trajectory', { run, trajectory: flow.ids[bar] ?? '' }, { attempt: flow.columns['attempt']?.[bar] || undefined });
  const { fromMs, toMs } = view.current;
  return (
    <>
      <canvas
        ref={canvas}
        class="flow"
        style={{ height: `${height}px` }}
        role="img"
        aria-label={`${flow.trajectories} trajectories and ${flow.steps.numbers.length} steps from ${new Date(layout.startMs).toISOString()} to ${new Date(layout.endMs).toISOString()}`}
        onMouseDown={(event) => {
          drag.current = event.clientX;
          moved.current = false;
        }}
        onMouseMove={(event) => {
          if (drag.current === undefined) {
            setPointed(at(event));
            return;
          }
          const px = event.clientX - drag.current;
          if (Math.abs(px) < 2) return;
          moved.current = true;
          drag.current = event.clientX;
          move({ panMs: (-px * (view.current.toMs - view.current.fromMs)) / event.currentTarget.clientWidth });
        }}
        onMouseUp={(event) => {
          drag.current = undefined;
          const bar = at(event);
          if (!moved.current && bar >= 0) go(linkOf(bar));
        }}
        onMouseLeave={() => {
          drag.current = undefined;
          setPointed(-1);
        }}
      />
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

type MoveWindow = (by: Parameters<typeof moveWindow>[2]) => void;

function useFlowKeys(layout: FlowLayout, view: { readonly current: TimeWindow }, move: MoveWindow): void {
  useKeys('Flow', [
    { keys: ['z'], does: 'Show all of it', run: () => change({ from: Math.round(layout.startMs), to: Math.round(layout.endMs) }) },
    { keys: ['h', 'ArrowLeft'], does: 'Earlier', run: () => move({ panMs: (view.current.fromMs - view.current.toMs) / 4 }) },
    { keys: ['l', 'ArrowRight'], does: 'Later', run: () => move({ panMs: (view.current.toMs - view.current.fromMs) / 4 }) },
    { keys: ['+', 'k'], does: 'Closer', run: () => move({ zoom: 0.5 }) },
    { keys: ['-', 'j'], does: 'Further', run: () => move({ zoom: 2 }) },
  ]);
}

interface TimeWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The wheel zooms at the pointer; with shift, it scrolls. */
function listenToWheel(box: HTMLCanvasElement, view: { readonly current: TimeWindow }, move: MoveWindow): () => void {
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
      {reason === '' ? '' : `: ${reason.replaceAll('_', ' ')}`}
      {of('step') >= 0 && `, step ${of('step')}`}
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

/** Discards of the visible window by reason, with a link to the list. */
function Reasons({ flow, run }: { readonly flow: ApiFlow; readonly run: string }): JSX.Element | null {
  const counts = new Map<string, number>();
  for (const [at, reason] of (flow.columns['reason'] ?? []).entries()) {
    if (reason === 0) continue;
    const name = `${flow.fates[flow.columns['fate']?.[at] ?? 0] ?? ''}: ${flow.reasons[reason] ?? ''}`.replaceAll('_', ' ');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (counts.size === 0) return null;
  return (
    <p class="note">
      {[...counts].map(([name, number]) => `${name} ${figure(number)}`).join(', ')}.{' '}
      <a href={`/runs/${encodeURIComponent(run)}/dropped`}>Kept against dropped</a>
    </p>
  );
}
