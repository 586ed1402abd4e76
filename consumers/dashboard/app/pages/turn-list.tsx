// The list of all turns, with a minimap. All rows have the same height, so the position of any turn is its index times the height.
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { theme } from '../charts/colors.ts';
import { drawMinimap, drawMinimapBase, drawWaterfall, type CanvasSize } from '../charts/strip.ts';
import type { ApiOutline } from '../data/shapes.ts';
import { duration, figure, versions } from '../kit/format.ts';
import { visible } from '../kit/visible.ts';
import { ROW_PX, rowsAt, scrollFor } from '../kit/window.ts';
import { useKeys } from '../shell/keys.ts';
import { change, parameter } from '../shell/place.ts';
import { rowAt, spanOf, spanOfRows, type TimeSpan } from './outline.ts';

interface TurnListProps {
  readonly outline: ApiOutline;
  readonly at: number;
  readonly matches: readonly number[];
  readonly onSelect: (at: number) => void;
  readonly waterfall: boolean;
}

const noSize: CanvasSize = { width: 0, height: 0 };

/** The current size of an element. */
function useSize(of: { readonly current: HTMLElement | null }): CanvasSize {
  const [size, setSize] = useState(noSize);
  useLayoutEffect(() => {
    const element = of.current;
    if (element === null) return undefined;
    const watch = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((before) => (before.width === width && before.height === height ? before : { width, height }));
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return size;
}

export function TurnList({ outline, at, matches, onSelect, waterfall }: TurnListProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const fall = useRef<HTMLCanvasElement>(null);
  const [top, setTop] = useState(0);
  const height = useSize(box).height || 480;
  const mapSize = useSize(map);
  const { from, to } = rowsAt(top, height, outline.turns);
  const isWhole = !waterfall || parameter('scale') === 'whole';
  const inView = { from: Math.floor(top / ROW_PX), to: Math.ceil((top + height) / ROW_PX) };
  const span = isWhole ? spanOf(outline) : spanOfRows(outline, inView);
  useLayoutEffect(() => {
    const host = box.current;
    if (host === null) return;
    const wanted = scrollFor(at, host.scrollTop, host.clientHeight);
    if (wanted !== host.scrollTop) host.scrollTop = wanted;
    setTop(host.scrollTop);
  }, [at]);
  const base = useMemo(() => (mapSize.height === 0 ? undefined : drawMinimapBase(outline, mapSize)), [outline, mapSize, theme.value]);
  useLayoutEffect(() => {
    if (map.current === null || base === undefined) return;
    const all = Math.max(1, outline.turns * ROW_PX);
    const shares = matches.map((place) => place / outline.turns);
    drawMinimap(map.current, { base, ...mapSize, from: top / all, to: Math.min(1, (top + height) / all), matches: shares });
  }, [base, top, height, matches]);
  useLayoutEffect(() => {
    if (fall.current !== null) drawWaterfall(fall.current, outline, { from, to, span, rowPx: ROW_PX });
  }, [outline, from, to, waterfall, span.startMs, span.endMs, theme.value, mapSize]);
  const jump = (event: PointerEvent): void => {
    const canvas = map.current;
    if (canvas === null || box.current === null || (event.type === 'pointermove' && event.buttons !== 1)) return;
    const share = (event.clientY - canvas.getBoundingClientRect().top) / canvas.clientHeight;
    box.current.scrollTop = share * outline.turns * ROW_PX - height / 2;
  };
  const found = useMemo(() => new Set(matches), [matches]);
  return (
    <>
      {waterfall && <WaterfallScale outline={outline} span={span} isWhole={isWhole} />}
      <div class="turn-list">
        <div
          ref={box}
          class="rows"
          tabIndex={0}
          role="listbox"
          aria-label={`${figure(outline.turns)} turns`}
          aria-activedescendant={`turn-${at}`}
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        >
          <div class="body" role="presentation" style={{ height: `${outline.turns * ROW_PX}px` }}>
            {Array.from({ length: to - from }, (_, index) => (
              <TurnRow
                key={from + index}
                outline={outline}
                at={from + index}
                selected={from + index === at}
                found={found.has(from + index)}
                onSelect={onSelect}
              />
            ))}
            {waterfall && (
              <canvas
                ref={fall}
                class="waterfall"
                aria-hidden="true"
                style={{ top: `${from * ROW_PX}px`, height: `${(to - from) * ROW_PX}px` }}
              />
            )}
          </div>
        </div>
        <canvas
          ref={map}
          class="minimap"
          role="img"
          aria-label="Longest and failed turns of the whole trajectory"
          onPointerDown={jump}
          onPointerMove={jump}
        />
      </div>
    </>
  );
}

interface WaterfallScaleProps {
  readonly outline: ApiOutline;
  readonly span: TimeSpan;
  readonly isWhole: boolean;
}

/** What the width of the waterfall stands for: the turns in view or the whole attempt. */
function WaterfallScale({ outline, span, isWhole }: WaterfallScaleProps): JSX.Element {
  const choose = (whole: boolean): void => change({ scale: whole ? 'whole' : '' });
  useKeys('Waterfall', [{ keys: ['x'], does: 'Scale to the turns in view or to the whole attempt', run: () => choose(!isWhole) }]);
  return (
    <div class="chips scale" role="group" aria-label="Width of the waterfall">
      {[false, true].map((whole) => (
        <button key={String(whole)} type="button" class="chip" aria-pressed={whole === isWhole} onClick={() => choose(whole)}>
          {whole ? 'whole attempt' : 'turns in view'}
        </button>
      ))}
      <kbd>x</kbd>
      <span class="note">
        {duration(span.endMs - span.startMs)} across, from {duration(span.startMs - spanOf(outline).startMs)} after the start. Above: the
        generation in the color of its version; below: the tool call, red if it failed. Pale: queued.
      </span>
    </div>
  );
}

interface TurnRowProps {
  readonly outline: ApiOutline;
  readonly at: number;
  readonly selected: boolean;
  readonly found: boolean;
  readonly onSelect: (at: number) => void;
}

function TurnRow({ outline, at, selected, found, onSelect }: TurnRowProps): JSX.Element {
  const row = rowAt(outline, at);
  return (
    <div
      id={`turn-${at}`}
      class={`turn-row${row.failed ? ' failed' : ''}${found ? ' found' : ''}`}
      role="option"
      aria-selected={selected}
      style={{ transform: `translateY(${at * ROW_PX}px)` }}
      onClick={() => onSelect(at)}
    >
      <span class="number">{row.turn}</span>
      <span class="tool">{row.tool === '' ? 'text' : visible(row.tool)}</span>
      <span class="number">{duration(row.generationMs)}</span>
      <span class="number">{row.tool === '' ? '' : duration(row.toolMs)}</span>
      <span class="dim">{versions(row.versionMin, row.versionMax)}</span>
      <span class="bad">{row.failed ? `✕ ${visible(row.errorType === '' ? row.status : row.errorType)}` : ''}</span>
    </div>
  );
}
