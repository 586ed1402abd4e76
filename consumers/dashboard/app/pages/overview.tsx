// One run on one screen: its curves, settings, tools, and latest steps. Charts are updated in place as new steps arrive.
import type { JSX } from 'preact';
import { signal, type ReadonlySignal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { mainCharts, slowCharts } from '../charts/figures.ts';
import { useAnswer } from '../data/answers.ts';
import { linkOf, placeOf, summaryOf, withEvents, type LiveEvent } from '../data/live-shapes.ts';
import { useLive } from '../data/live.ts';
import { usePolled } from '../data/polled.ts';
import type { ApiPage, ApiRun, ApiStep, ApiTool } from '../data/shapes.ts';
import type { ApiWatchedRun } from '../data/watch-shapes.ts';
import { count, duration, figure, NOT_RECORDED, percent } from '../kit/format.ts';
import { Badge, RunTabs, Stat, Text, When } from '../kit/parts.tsx';
import { runUrl } from '../kit/run-page.tsx';
import { Empty, NotRecorded, Waiting } from '../kit/states.tsx';
import { address, type PatternParts } from '../shell/patterns.ts';
import { useTitle } from '../shell/title.ts';
import { AdvisoryLine } from './advisories.tsx';
import { Curves } from './curves.tsx';

const MOST_EVENTS = 20;

/** The addresses that an event affects. Tools are reloaded less often, because they are computed from all turns. */
const refreshesOf = (run: string): Readonly<Record<string, readonly string[]>> => {
  const all = ['/curves', '/steps', '/advisories', '/tools'].map((part) => runUrl(run, part));
  return {
    StepCompleted: [`${runUrl(run)}?`, ...all],
    RunFinished: [`${runUrl(run)}?`, ...all],
    RunContinued: [`${runUrl(run)}?`, ...all],
    TrajectoryExpired: [runUrl(run, '/advisories')],
  };
};
const followed = ['StepCompleted', 'RunFinished', 'RunContinued', 'TrajectoryDiscarded', 'TrajectoryExpired', 'PolicyPublished'] as const;

export function Overview({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  useTitle(run);
  const shown = useAnswer<ApiRun>(runUrl(run));
  // requests that scan turns wait until the curves have arrived
  const [drawn, setDrawn] = useState(false);
  // a signal, so that an event renders the list and not the page
  const events = useMemo(() => signal<readonly LiveEvent[]>([]), []);
  useLive({
    run,
    types: followed,
    refreshes: refreshesOf(run),
    onEvent: (event) => {
      events.value = withEvents(events.peek(), [event]).slice(0, MOST_EVENTS);
    },
    // the list of events must not have gaps
    onGap: () => (events.value = []),
  });
  usePolled(runUrl(run, '/advisories'));
  const watched = useAnswer<ApiWatchedRun>(drawn ? runUrl(run, '/advisories') : undefined).value;
  return (
    <>
      <Waiting shown={shown} of="the run">
        {(value) => (
          <>
            <div class="head">
              <h1>
                <Text>{value.run_id}</Text>
              </h1>
              <Badge state={value.status} note={value.reason} />
              <small>
                started <When at={value.started_at} />, last event <When at={value.last_at} />
              </small>
            </div>
            <RunTabs run={run} />
            {drawn && <AdvisoryLine run={run} />}
            <Figures run={value} watched={watched} />
          </>
        )}
      </Waiting>
      <Curves run={run} charts={mainCharts} later={slowCharts} outages={watched?.outages} onDrawn={() => setDrawn(true)} />
      <div class="columns">
        {drawn && <LastSteps run={run} />}
        {drawn && <Tools run={run} />}
        <LastEvents events={events} />
        {shown.value !== undefined && <Settings run={shown.value} />}
      </div>
    </>
  );
}

interface FiguresProps {
  readonly run: ApiRun;
  readonly watched: ApiWatchedRun | undefined;
}

function Figures({ run, watched }: FiguresProps): JSX.Element {
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
      <Stat name="Generated tokens trained" value={run.tokens} />
      {watched !== undefined && <Now run={run.run_id} watched={watched} />}
    </dl>
  );
}

/** The current state of the run: trainer, admission, lag of the tables, and the worst sample. */
function Now({ run, watched: { behind, state } }: { readonly run: string; readonly watched: ApiWatchedRun }): JSX.Element {
  const worst = address('/runs/:run/t/:trajectory', { run, trajectory: state.worst_trajectory_id }, { attempt: state.worst_attempt });
  return (
    <>
      {state.ledger_at !== null && (
        <Stat
          name="Trainer"
          value={state.trainer === '' ? NOT_RECORDED : state.trainer}
          note={
            <>
              newest entry <Text>{state.ledger_entry}</Text>, <When at={state.ledger_at} />
            </>
          }
        />
      )}
      {state.admitted_at !== null && (
        <Stat
          name="In flight"
          value={state.running}
          note={
            <>
              of {figure(state.max_concurrent)}, room for {count(state.capacity, 'group')}, <When at={state.admitted_at} />
            </>
          }
        />
      )}
      <Stat name="Tables behind the log" value={behind} note={behind === null ? 'the log does not answer' : 'records'} />
      {state.continued > 0 && <Stat name="Continued" value={state.continued} note="times after it had finished" />}
      {state.worst_reward !== null && (
        <Stat
          name="Worst of the last step"
          value={state.worst_reward}
          note={
            <a href={worst}>
              <Text>{state.worst_trajectory_id}</Text>
            </a>
          }
        />
      )}
    </>
  );
}

function LastEvents({ events: { value: events } }: { readonly events: ReadonlySignal<readonly LiveEvent[]> }): JSX.Element {
  return (
    <section>
      <h2>Last events</h2>
      {events.length === 0 ? (
        <Empty>No event yet while this page is in view.</Empty>
      ) : (
        <ol class="events">
          {events.map((event) => (
            <li key={placeOf(event)}>
              <a href={linkOf(event) ?? '/live'}>{event.type}</a> <Text>{summaryOf(event)}</Text>{' '}
              <When at={new Date(event.timestamp_ms).toISOString()} />
            </li>
          ))}
        </ol>
      )}
    </section>
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
                      <a href={`/runs/${encodeURIComponent(run)}/trajectories?tool=${encodeURIComponent(tool.tool)}`}>
                        <Text>{tool.tool}</Text>
                      </a>
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
            <dd>
              <Text>{String(run[name])}</Text>
            </dd>
          </div>
        ))}
      </dl>
    ) : (
      <NotRecorded>This run has no ledger: no trainer of turnstream wrote it.</NotRecorded>
    )}
  </section>
);
