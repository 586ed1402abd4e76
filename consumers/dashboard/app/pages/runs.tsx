// All runs: progress, reward, and discards. The newest are live; older ones are loaded a page at a time.
import type { JSX } from 'preact';
import { runsUrl } from '../data/addresses.ts';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiPage, ApiRun } from '../data/shapes.ts';
import { figure, NOT_RECORDED, percent } from '../kit/format.ts';
import { Badge, Share, Spark, Text, When } from '../kit/parts.tsx';
import { useRowKeys } from '../kit/row-keys.ts';
import { Empty, Failed, Waiting } from '../kit/states.tsx';
import { address } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { useOlderPages } from './older-pages.ts';

const statuses = ['running', 'finished', 'recorded'] as const;

const linkOf = (run: string): string => address('/runs/:run', { run });

export function Runs(): JSX.Element {
  useTitle('Runs');
  const status = parameter('status') ?? '';
  useLive({ types: ['RunStarted', 'RunFinished', 'StepCompleted'], refreshes: ['/v1/runs?'] });
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
      <RunsOf key={status} status={status} />
    </>
  );
}

function RunsOf({ status }: { readonly status: string }): JSX.Element {
  const url = runsUrl(status);
  const shown = useAnswer<ApiPage<ApiRun>>(url);
  const older = useOlderPages<ApiRun>(url, shown.value?.next_cursor ?? null);
  const runs = [...(shown.value?.items ?? []), ...older.items];
  const selected = useRowKeys(
    'Runs',
    runs.map(({ run_id }) => run_id),
    linkOf,
  );
  return (
    <>
      <Waiting shown={shown} of="the runs">
        {() => (runs.length === 0 ? <NoRuns status={status} /> : <Table runs={runs} selected={selected} />)}
      </Waiting>
      {older.problem !== undefined && <Failed problem={older.problem} />}
      {!older.isWhole && (
        <button type="button" class="chip" onClick={older.more} disabled={older.loading}>
          More runs
        </button>
      )}
    </>
  );
}

const NoRuns = ({ status }: { readonly status: string }): JSX.Element => (
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
);

const Table = ({ runs, selected }: { readonly runs: readonly ApiRun[]; readonly selected: string | undefined }): JSX.Element => (
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
        {runs.map((run) => (
          <Row key={run.run_id} run={run} selected={run.run_id === selected} />
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
        <a href={linkOf(run.run_id)}>
          <Text>{run.run_id}</Text>
        </a>
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
      <td>{run.algorithm === '' ? NOT_RECORDED : <Text>{run.algorithm}</Text>}</td>
      <td>
        <When at={run.last_at} />
      </td>
    </tr>
  );
}
