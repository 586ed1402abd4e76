// One run on one screen: how it goes, what it was told, what its tools do, and its last steps. Curves stay where they are while
// new steps come in.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Chart } from '../charts/chart.tsx';
import { curvesUrl, mainCharts, moreCharts, reduction, type ChartSpec } from '../charts/figures.ts';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiCurves, ApiPage, ApiRun, ApiStep, ApiTool } from '../data/shapes.ts';
import type { ApiWeather } from '../data/watch-shapes.ts';
import { duration, figure, percent } from '../kit/format.ts';
import { Badge, RunTabs, Stat, When } from '../kit/parts.tsx';
import { runUrl } from '../kit/run-page.tsx';
import { AdvisoryLine } from './advisories.tsx';
import { Empty, NotRecorded, Waiting } from '../kit/states.tsx';
import { useKeys } from '../shell/keys.ts';
import type { PatternParts } from '../shell/patterns.ts';
import { change, go, numberParameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';

const POINTS = 400;

export function Overview({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  useTitle(run);
  const shown = useAnswer<ApiRun>(runUrl(run));
  // what reads turns waits until the curves are there, so that these come first
  const [drawn, setDrawn] = useState(false);
  useLive({ run, types: ['StepCompleted', 'RunFinished', 'RunContinued', 'TrajectoryDiscarded'], refreshes: [runUrl(run)] });
  return (
    <>
      <Waiting shown={shown} of="the run">
        {(value) => (
          <>
            <div class="head">
              <h1>{value.run_id}</h1>
              <Badge state={value.status} note={value.reason} />
              <small>
                started <When at={value.started_at} />, last event <When at={value.last_at} />
              </small>
            </div>
            <RunTabs run={run} />
            {drawn && <AdvisoryLine run={run} />}
            <Figures run={value} />
          </>
        )}
      </Waiting>
      <Charts run={run} charts={mainCharts} onDrawn={() => setDrawn(true)} />
      <div class="columns">
        {drawn && <LastSteps run={run} />}
        {drawn && <Tools run={run} />}
        {shown.value !== undefined && <Settings run={shown.value} />}
      </div>
    </>
  );
}

/** Every series of a run. */
export function AllCurves({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  useTitle(`Curves of ${run}`);
  useLive({ run, types: ['StepCompleted'], refreshes: [runUrl(run, '/curves')] });
  return (
    <>
      <div class="head">
        <h1>Curves</h1>
      </div>
      <RunTabs run={run} />
      <Charts run={run} charts={allCharts} />
    </>
  );
}

const allCharts = [...mainCharts, ...moreCharts];

function Figures({ run }: { readonly run: ApiRun }): JSX.Element {
  const decided = run.trained + run.discarded;
  const { reward_mean_first_20: first, reward_mean_last_20: last } = run;
  const planned = run.planned_steps > 0 ? `of ${figure(run.planned_steps)}` : undefined;
  return (
    <dl class="stats">
      <Stat name="Step" value={run.steps} note={planned} />
      <Stat name="Reward, last 20 steps" value={last} note={first === null ? undefined : `first 20: ${figure(first)}`} />
      <Stat name="Trained" value={run.trained} note="trajectories" />
      <Stat
        name="Discarded"
        value={run.discarded}
        note={decided === 0 ? undefined : `${percent(run.discarded / decided)} of those decided`}
      />
      <Stat name="Staleness, most" value={run.staleness_max} note={`bound ${figure(run.max_staleness)}`} />
      <Stat name="Tokens trained" value={run.tokens} />
    </dl>
  );
}

const none: ApiWeather['outages'] = [];

interface ChartsProps {
  readonly run: string;
  readonly charts: readonly ChartSpec[];
  readonly onDrawn?: () => void;
}

function Charts({ run, charts, onDrawn }: ChartsProps): JSX.Element {
  const [from, to] = [numberParameter('from'), numberParameter('to')];
  const shown = useAnswer<ApiCurves>(curvesUrl(run, charts, { from, to, points: POINTS }));
  const isThere = shown.value !== undefined || shown.problem !== undefined;
  useEffect(() => {
    if (isThere) onDrawn?.();
  }, [isThere]);
  const weather = useAnswer<ApiWeather>(isThere ? runUrl(run, '/tools/series?points=200') : undefined);
  const outages = weather.value?.outages ?? none;
  const zoomOut = (): void => change({ from: undefined, to: undefined }, true);
  useKeys('Curves', [{ keys: ['z'], does: 'Zoom out', run: zoomOut }]);
  return (
    <Waiting shown={shown} of="the curves">
      {(curves) =>
        curves.steps.length === 0 ? (
          <Empty>No steps {from === undefined ? 'yet: the first curve moves when the first batch is trained.' : 'in this range.'}</Empty>
        ) : (
          <section aria-label="Curves">
            <p class="note">
              Steps {figure(curves.first_steps[0])} to {figure(curves.steps.at(-1))}, {reduction(curves)}. Drag to zoom, click to open a
              step.{outages.some(({ from_step }) => from_step >= 0) && ' Hatched: a tool was out.'}
              {(from !== undefined || to !== undefined) && (
                <button type="button" class="chip" onClick={zoomOut}>
                  Zoom out <kbd>z</kbd>
                </button>
              )}
            </p>
            <div class="charts">
              {charts.map((spec) => (
                <Chart
                  key={spec.title}
                  curves={curves}
                  spec={spec}
                  outages={outages}
                  onZoom={(a, b) => change({ from: a, to: b }, true)}
                  onOpen={(step) => go(`/runs/${encodeURIComponent(run)}/steps/${step}`)}
                />
              ))}
            </div>
          </section>
        )
      }
    </Waiting>
  );
}

function LastSteps({ run }: { readonly run: string }): JSX.Element {
  const fields = 'step,reward_mean,f1_mean,trajectories,staleness_max,train_ms,wait_ms,at';
  const shown = useAnswer<ApiPage<ApiStep>>(runUrl(run, `/steps?order=desc&limit=8&fields=${fields}`));
  return (
    <section>
      <h2>Last steps</h2>
      <Waiting shown={shown} of="the steps">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>None yet.</Empty>
          ) : (
            <table>
              <thead>
                <tr>
                  <th>Step</th>
                  <th class="number">Reward</th>
                  <th class="number">Stale</th>
                  <th class="number">Waited</th>
                  <th class="number">Trained</th>
                  <th>When</th>
                </tr>
              </thead>
              <tbody>
                {items.map((step) => (
                  <tr key={step.step}>
                    <td>
                      <a href={`/runs/${encodeURIComponent(run)}/steps/${step.step}`}>{step.step}</a>
                    </td>
                    <td class="number">{figure(step.reward_mean)}</td>
                    <td class="number">{figure(step.staleness_max)}</td>
                    <td class="number">{duration(step.wait_ms)}</td>
                    <td class="number">{duration(step.train_ms)}</td>
                    <td>
                      <When at={step.at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Waiting>
    </section>
  );
}

function Tools({ run }: { readonly run: string }): JSX.Element {
  const shown = useAnswer<{ readonly items: readonly ApiTool[] }>(runUrl(run, '/tools'));
  return (
    <section>
      <h2>Tools</h2>
      <Waiting shown={shown} of="the tools">
        {({ items }) =>
          items.length === 0 ? (
            <NotRecorded>No turn of this run called a tool.</NotRecorded>
          ) : (
            <table>
              <thead>
                <tr>
                  <th>Tool</th>
                  <th class="number">Calls</th>
                  <th class="number">Failed</th>
                  <th class="number">p50</th>
                  <th class="number">p95</th>
                </tr>
              </thead>
              <tbody>
                {items.map((tool) => (
                  <tr key={tool.tool}>
                    <td>
                      <a href={`/runs/${encodeURIComponent(run)}/trajectories?tool=${encodeURIComponent(tool.tool)}`}>{tool.tool}</a>
                    </td>
                    <td class="number">{figure(tool.calls)}</td>
                    <td class="number">{percent(tool.failure_rate)}</td>
                    <td class="number">{duration(tool.ms_p50)}</td>
                    <td class="number">{duration(tool.ms_p95)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Waiting>
    </section>
  );
}

const settings = [
  'dataset',
  'algorithm',
  'backend',
  'seed',
  'group_size',
  'batch_groups',
  'max_staleness',
  'max_concurrent',
  'stale_policy',
] as const;

const Settings = ({ run }: { readonly run: ApiRun }): JSX.Element => (
  <section>
    <h2>Settings</h2>
    {run.is_trained ? (
      <dl class="pairs">
        {settings.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{String(run[name])}</dd>
          </div>
        ))}
      </dl>
    ) : (
      <NotRecorded>This run has no ledger: no trainer of turnstream wrote it.</NotRecorded>
    )}
  </section>
);
