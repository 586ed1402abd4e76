// All runs: progress, reward, and discards.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { runsUrl } from '../data/addresses.ts';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiPage, ApiRun } from '../data/shapes.ts';
import { figure, NOT_RECORDED, percent } from '../kit/format.ts';
import { Badge, Share, Spark, When } from '../kit/parts.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { openKeys, useKeys } from '../shell/keys.ts';
import { change, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';

const statuses = ['running', 'finished', 'recorded'] as const;

export function Runs(): JSX.Element {
  useTitle('Runs');
  const status = parameter('status') ?? '';
  const shown = useAnswer<ApiPage<ApiRun>>(runsUrl(status));
  const [at, setAt] = useState(-1);
  const runs = shown.value?.items ?? [];
  useLive({ types: ['RunStarted', 'RunFinished', 'StepCompleted'], refreshes: ['/v1/runs?'] });
  const move = (by: number): void => setAt(Math.max(0, Math.min(runs.length - 1, at + by)));
  useKeys('Runs', [
    { keys: ['j', 'ArrowDown'], does: 'Next run', run: () => move(1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous run', run: () => move(-1) },
    ...openKeys(() => (runs[at] === undefined ? undefined : `/runs/${encodeURIComponent(runs[at].run_id)}`)),
  ]);
  return (
    <>
      <div class="head">
        <h1>Runs</h1>
        <div class="chips" role="group" aria-label="Status">
          {['', ...statuses].map((one) => (
            <button key={one} type="button" class="chip" aria-pressed={status === one} onClick={() => change({ status: one })}>
              {one === '' ? 'all' : one}
            </button>
          ))}
        </div>
      </div>
      <Waiting shown={shown} of="the runs">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>
              {status === '' ? (
                <>
                  <h2>No runs yet</h2>
                  <p>
                    <code>npm start</code> begins one; it appears here by itself.
                  </p>
                </>
              ) : (
                <>
                  No run is {status}. <a href="/">Show all</a>
                </>
              )}
            </Empty>
          ) : (
            <Table runs={items} at={at} />
          )
        }
      </Waiting>
    </>
  );
}

const Table = ({ runs, at }: { readonly runs: readonly ApiRun[]; readonly at: number }): JSX.Element => (
  <div class="scroller" tabIndex={0} role="region" aria-label="Runs">
    <table>
      <thead>
        <tr>
          <th>Run</th>
          <th>Status</th>
          <th class="number">Steps</th>
          <th>Reward</th>
          <th class="number">Last 20</th>
          <th class="number">Change</th>
          <th>Trained of all</th>
          <th class="number">Staleness max</th>
          <th>Algorithm</th>
          <th>Last event</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run, index) => (
          <Row key={run.run_id} run={run} selected={index === at} />
        ))}
      </tbody>
    </table>
  </div>
);

function Row({ run, selected }: { readonly run: ApiRun; readonly selected: boolean }): JSX.Element {
  const decided = run.trained + run.discarded;
  const { reward_mean_first_20: first, reward_mean_last_20: last } = run;
  return (
    <tr aria-selected={selected}>
      <td>
        <a href={`/runs/${encodeURIComponent(run.run_id)}`}>{run.run_id}</a>
      </td>
      <td>
        <Badge state={run.status} />
      </td>
      <td class="number">
        {figure(run.steps)}
        {run.planned_steps > 0 && <small> / {figure(run.planned_steps)}</small>}
      </td>
      <td>
        <Spark values={run.reward_spark ?? []} label={`Reward over ${run.steps} steps, now ${figure(run.reward_mean)}`} />
      </td>
      <td class="number">{figure(last)}</td>
      <td class="number">{first === null || last === null ? NOT_RECORDED : `${last >= first ? '+' : ''}${figure(last - first)}`}</td>
      <td title={`${figure(run.trained)} trained, ${figure(run.discarded)} discarded`}>
        {decided > 0 ? (
          <>
            <Share part={run.trained} whole={decided} label={`${percent(run.trained / decided)} of the trajectories were trained on`} />{' '}
            {percent(run.trained / decided)}
          </>
        ) : (
          NOT_RECORDED
        )}
      </td>
      <td class="number">{figure(run.staleness_max)}</td>
      <td>{run.algorithm === '' ? NOT_RECORDED : run.algorithm}</td>
      <td>
        <When at={run.last_at} />
      </td>
    </tr>
  );
}
