// Charts of a run over steps, versions, or time. The range, axis, series, and runs to compare with are in the address. Charts stay visible
// while new data loads.
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Chart, type OtherCurves } from '../charts/chart.tsx';
import {
  axes,
  axisIn,
  axisOf,
  chartsLike,
  curvesUrl,
  mainCharts,
  moreCharts,
  reduction,
  reductionOf,
  slowCharts,
  type ChartAxis,
  type ChartSpec,
} from '../charts/figures.ts';
import { POINTS } from '../data/addresses.ts';
import { isSettled, useAnswer, type Loadable } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiCurves } from '../data/shapes.ts';
import type { ApiOutage, ApiWatchedRun } from '../data/watch-shapes.ts';
import { figure } from '../kit/format.ts';
import { usePainted } from '../kit/painted.ts';
import { RunTabs, Text } from '../kit/parts.tsx';
import { runUrl } from '../kit/run-page.tsx';
import { Empty, Failed, Waiting } from '../kit/states.tsx';
import { useKeys } from '../shell/keys.ts';
import type { PatternParts } from '../shell/patterns.ts';
import { change, go, numberParameter, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { useHiddenCharts } from './hidden-charts.tsx';

/** Maximum number of runs to compare with; each is a request. */
const MOST_OTHERS = 3;
const noOutages: readonly ApiOutage[] = [];
const noCharts: readonly ChartSpec[] = [];
const noRuns: readonly LaidRun[] = [];

interface CurvesProps {
  readonly run: string;
  readonly charts: readonly ChartSpec[];
  /** Charts that need more than the steps table; requested after the others are drawn. */
  readonly later?: readonly ChartSpec[];
  readonly outages?: readonly ApiOutage[] | undefined;
  readonly others?: readonly string[];
  readonly onDrawn?: () => void;
}

export function Curves({ run, charts, later = noCharts, outages = noOutages, others = [], onDrawn }: CurvesProps): JSX.Element {
  const range = { from: numberParameter('from'), to: numberParameter('to'), points: POINTS, axis: axisOf(parameter('x')) };
  const shown = useAnswer<ApiCurves>(charts.length === 0 ? undefined : curvesUrl(run, charts, range), { keep: true });
  const isPainted = usePainted(isSettled(shown));
  useEffect(() => {
    if (isPainted) onDrawn?.();
  }, [isPainted]);
  const more = useAnswer<ApiCurves>(isPainted && later.length > 0 ? curvesUrl(run, later, range) : undefined, { keep: true });
  const laid = useOthers(others, charts, range);
  const zoomOut = (): void => change({ from: undefined, to: undefined }, true);
  useKeys('Curves', [
    { keys: ['z'], does: 'Zoom out', run: zoomOut },
    { keys: ['x'], does: 'Over steps, versions, or time', run: () => change({ x: nextAxis(range.axis) }) },
  ]);
  const { isShown, chips } = useHiddenCharts([...charts, ...later]);
  if (charts.length === 0) return <Empty>No series matches.</Empty>;
  const isZoomed = range.from !== undefined || range.to !== undefined;
  return (
    <Waiting shown={shown} of="the curves">
      {(curves) =>
        curves.steps.length === 0 ? (
          <Empty>
            No steps {isZoomed ? 'in this range.' : 'yet: the first curve moves when the first batch is trained.'}
            {isZoomed && <ZoomOut onClick={zoomOut} />}
          </Empty>
        ) : (
          <section aria-label="Curves">
            <p class="note">
              Steps {figure(curves.first_steps[0])} to {figure(curves.steps.at(-1))}, {reduction(curves)}.{' '}
              {laid.map(({ run: other, curves: theirs }) => theirs !== undefined && `${reductionOf(other, theirs)}. `)}
              Drag to zoom, click to open a step.{outages.some(({ from_step }) => from_step >= 0) && ' Hatched: a tool outage.'}
              {isZoomed && <ZoomOut onClick={zoomOut} />}
            </p>
            {laid.map(({ run: other, problem }) => problem !== undefined && <Failed key={other} problem={problem} />)}
            {chips}
            <div class="charts">
              <Drawn {...{ run, charts, outages, laid, range, isShown }} curves={curves} />
              {more.value !== undefined && more.value.steps.length > 0 && (
                <Drawn {...{ run, outages, laid: noRuns, range, isShown }} charts={later} curves={more.value} />
              )}
            </div>
          </section>
        )
      }
    </Waiting>
  );
}

const nextAxis = (axis: ChartAxis): string => {
  const next = axes[(axes.indexOf(axis) + 1) % axes.length] ?? 'step';
  return next === 'step' ? '' : next;
};

const ZoomOut = ({ onClick }: { readonly onClick: () => void }): JSX.Element => (
  <button type="button" class="chip" onClick={onClick}>
    Zoom out <kbd>z</kbd>
  </button>
);

/** Another run; without curves while they load or if there is a problem. */
interface LaidRun {
  readonly run: string;
  readonly curves: ApiCurves | undefined;
  readonly problem: Loadable<ApiCurves>['problem'];
}

/** The curves of other runs, at most `MOST_OTHERS`, so that the number of hooks is always the same. */
function useOthers(others: readonly string[], charts: readonly ChartSpec[], range: DrawnProps['range']): readonly LaidRun[] {
  const laid = Array.from({ length: MOST_OTHERS }, (_, at) => {
    const run = charts.length === 0 ? undefined : others[at];
    const { value, problem } = useAnswer<ApiCurves>(run === undefined ? undefined : curvesUrl(run, charts, range), { keep: true });
    // with `keep`, the value may still be that of the run that had this position before
    return { run, curves: value?.run_id === run ? value : undefined, problem };
  });
  return laid.flatMap(({ run, ...rest }) => (run === undefined ? [] : [{ run, ...rest }]));
}

interface DrawnProps {
  readonly run: string;
  readonly charts: readonly ChartSpec[];
  readonly curves: ApiCurves;
  readonly outages: readonly ApiOutage[];
  readonly laid: readonly LaidRun[];
  readonly range: Parameters<typeof curvesUrl>[2];
  readonly isShown: (spec: ChartSpec) => boolean;
}

function Drawn({ run, charts, curves, outages, laid, range, isShown }: DrawnProps): JSX.Element {
  const axis = axisIn(curves, range.axis ?? 'step');
  const known = useMemo(
    () =>
      laid.flatMap(({ run: other, curves: theirs }): OtherCurves[] =>
        theirs === undefined || axisIn(theirs, axis) !== axis ? [] : [{ run: other, curves: theirs }],
      ),
    [axis, ...laid.map(({ curves: theirs }) => theirs)],
  );
  return (
    <>
      {charts.filter(isShown).map((spec) => (
        <Chart
          key={spec.title}
          {...{ curves, spec, outages, axis }}
          others={known}
          onZoom={(from, to) => change({ from, to }, true)}
          onOpen={(step) => go(`/runs/${encodeURIComponent(run)}/steps/${step}`)}
        />
      ))}
    </>
  );
}

const allCharts = [...mainCharts, ...slowCharts, ...moreCharts];

/** All series of a run. */
export function AllCurves({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  useTitle(`Curves of ${run}`);
  useLive({ run, types: ['StepCompleted'], refreshes: [runUrl(run, '/curves'), runUrl(run, '/advisories')] });
  const pattern = parameter('series') ?? '';
  const charts = useMemo(() => chartsLike(allCharts, pattern), [pattern]);
  const asked = (parameter('with') ?? '').split(',').map((other) => other.trim());
  const wanted = [...new Set(asked)].filter((other) => other !== '' && other !== run);
  const [others, left] = [wanted.slice(0, MOST_OTHERS), wanted.slice(MOST_OTHERS)];
  const watched = useAnswer<ApiWatchedRun>(runUrl(run, '/advisories')).value;
  const axis = axisOf(parameter('x'));
  return (
    <>
      <div class="head">
        <h1>Curves</h1>
      </div>
      <RunTabs run={run} />
      <div class="bar">
        <Field name="series" label="Series, as a regular expression" />
        <Field name="with" label={`Up to ${MOST_OTHERS} runs to overlay`} />
        <span class="grow" />
        <div class="chips" role="group" aria-label="Over">
          {axes.map((one) => (
            <button
              key={one}
              type="button"
              class="chip"
              aria-pressed={axis === one}
              onClick={() => change({ x: one === 'step' ? '' : one })}
            >
              {one}
            </button>
          ))}
        </div>
      </div>
      {left.length > 0 && (
        <p class="note" role="status">
          At most {MOST_OTHERS} other runs are overlaid. Left out: <Text>{left.join(', ')}</Text>.
        </p>
      )}
      {charts === undefined ? (
        <Empty>This is not a valid regular expression.</Empty>
      ) : (
        <Curves run={run} charts={charts} others={others} outages={watched?.outages} />
      )}
    </>
  );
}

/** A text field for a parameter of the address. */
const Field = ({ name, label }: { readonly name: string; readonly label: string }): JSX.Element => (
  <form
    class="inline"
    onSubmit={(event) => {
      event.preventDefault();
      const text = new FormData(event.currentTarget).get(name);
      change({ [name]: typeof text === 'string' ? text.trim() : '' }, true);
    }}
  >
    <input name={name} type="search" placeholder={label} aria-label={label} value={parameter(name) ?? ''} maxLength={500} />
  </form>
);
