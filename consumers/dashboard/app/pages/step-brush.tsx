// The steps of a run on one axis, with the number of discards of each. Dragging selects the range of steps for the page.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import type { ApiCurves } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { runUrl } from '../kit/run-page.tsx';
import { useKeys } from '../shell/keys.ts';
import { change } from '../shell/place.ts';

const POINTS = 300;
const HIGH = 48;

interface StepBrushProps {
  readonly run: string;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

export function StepBrush({ run, from, to }: StepBrushProps): JSX.Element | null {
  const { value } = useAnswer<ApiCurves>(runUrl(run, `/curves?points=${POINTS}&series=discarded`));
  useKeys('Steps', [{ keys: ['z'], does: 'All steps', run: () => change({ from: '', to: '' }, true) }]);
  return value === undefined || value.steps.length < 2 ? null : <Brush curves={value} from={from} to={to} />;
}

/** Start and current position of a drag. */
interface DraggedPlaces {
  readonly start: number;
  readonly end: number;
}

function Brush({ curves, from, to }: Pick<StepBrushProps, 'from' | 'to'> & { readonly curves: ApiCurves }): JSX.Element {
  const [dragged, setDragged] = useState<DraggedPlaces>();
  const box = useRef<SVGSVGElement>(null);
  const { steps, first_steps: firsts } = curves;
  // a bucket of a single step has no range
  const counts = ((curves.high ?? curves.series)['discarded'] ?? []).map(Number);
  const most = Math.max(1, ...counts);
  const bars = counts.map((count, at) => {
    const high = (HIGH * count) / most;
    return high === 0 ? '' : `M${at},${HIGH}V${HIGH - high}H${at + 0.9}V${HIGH}Z`;
  });
  const placeAt = (event: PointerEvent): number => {
    const { left, width } = box.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return Math.max(0, Math.min(steps.length - 1, Math.floor(((event.clientX - left) / width) * steps.length)));
  };
  const placeOf = (step: number | undefined, otherwise: number): number => {
    const at = step === undefined ? otherwise : steps.findIndex((last) => last >= step);
    return at < 0 ? steps.length - 1 : at;
  };
  const [start, end] =
    dragged === undefined
      ? [placeOf(from, 0), placeOf(to, steps.length - 1)]
      : [Math.min(dragged.start, dragged.end), Math.max(dragged.start, dragged.end)];
  const choose = (): void => {
    setDragged(undefined);
    if (dragged !== undefined) change({ from: firsts[start], to: steps[end] }, true);
  };
  return (
    <figure class="brush">
      <svg
        ref={box}
        class="strip"
        viewBox={`0 0 ${steps.length} ${HIGH}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Dropped in each of ${figure(steps.at(-1))} steps, ${figure(firsts[start])} to ${figure(steps[end])} chosen`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDragged({ start: placeAt(event), end: placeAt(event) });
        }}
        onPointerMove={(event) => dragged !== undefined && setDragged({ ...dragged, end: placeAt(event) })}
        onPointerUp={choose}
        onPointerCancel={() => setDragged(undefined)}
      >
        <path class="discarded" d={bars.join('')} />
        <rect class="window" x={start} width={end - start + 1} height={HIGH} />
      </svg>
      <figcaption class="note">
        Dropped by step{curves.every > 1 && `, maximum of ${figure(curves.every)} steps`}: at most {figure(most)}. Drag to choose steps
        {(from !== undefined || to !== undefined) && (
          <>
            {' '}
            <button type="button" class="chip" onClick={() => change({ from: '', to: '' }, true)}>
              all steps <kbd>z</kbd>
            </button>
          </>
        )}
      </figcaption>
    </figure>
  );
}
