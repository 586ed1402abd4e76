// The list of every turn, with its minimap. Rows have one height and never expand, so any turn is one multiplication away.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { drawMinimap, drawWaterfall } from '../charts/strip.ts';
import type { ApiOutline } from '../data/shapes.ts';
import { duration, figure, versions } from '../kit/format.ts';
import { visible } from '../kit/visible.ts';
import { ROW_PX, rowsAt, scrollFor } from '../kit/window.ts';
import { rowAt, spanOf } from './outline.ts';

interface TurnListProps {
  readonly outline: ApiOutline;
  readonly at: number;
  readonly matches: readonly number[];
  readonly onSelect: (at: number) => void;
  readonly waterfall: boolean;
}

export function TurnList({ outline, at, matches, onSelect, waterfall }: TurnListProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const fall = useRef<HTMLCanvasElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(480);
  const { from, to } = rowsAt(top, height, outline.turns);
  useLayoutEffect(() => {
    const host = box.current;
    if (host === null) return undefined;
    const watch = new ResizeObserver(() => setHeight(host.clientHeight));
    watch.observe(host);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    const host = box.current;
    if (host !== null) host.scrollTop = scrollFor(at, host.scrollTop, host.clientHeight);
  }, [at]);
  useEffect(() => {
    const all = Math.max(1, outline.turns * ROW_PX);
    if (map.current !== null) {
      drawMinimap(map.current, outline, {
        from: top / all,
        to: Math.min(1, (top + height) / all),
        matches: matches.map((place) => place / outline.turns),
      });
    }
    if (fall.current !== null) drawWaterfall(fall.current, outline, { from, to, span: spanOf(outline), rowPx: ROW_PX });
  });
  const jump = (event: PointerEvent): void => {
    const canvas = map.current;
    if (canvas === null || box.current === null || (event.type === 'pointermove' && event.buttons !== 1)) return;
    const share = (event.clientY - canvas.getBoundingClientRect().top) / canvas.clientHeight;
    box.current.scrollTop = share * outline.turns * ROW_PX - height / 2;
  };
  const found = new Set(matches);
  return (
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
              role="img"
              aria-label="When each turn generated and called its tool"
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
