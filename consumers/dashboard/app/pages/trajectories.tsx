// Finished attempts of a run with any filter and sort order of the API, and with the fate of each.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLive } from '../data/live.ts';
import type { ApiTrajectory } from '../data/shapes.ts';
import { since } from '../kit/format.ts';
import { RunTabs } from '../kit/parts.tsx';
import { Empty, Failed, Loading } from '../kit/states.tsx';
import type { PatternParts } from '../shell/patterns.ts';
import { change, parameter, place } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { Filters } from './filter-chips.tsx';
import { filterQuery } from './filters.ts';
import { usePages } from './pages-of.ts';
import { columnsNamed, fieldsOf, nameOfColumns, trajectoryColumns, type TrajectoryColumn } from './trajectory-columns.tsx';
import { TrajectoryList } from './trajectory-list.tsx';

export function Trajectories({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  useTitle(`Trajectories of ${run}`);
  const filter = filterQuery(place.value.searchParams);
  const columns = columnsNamed(parameter('columns'));
  const url = `/v1/runs/${encodeURIComponent(run)}/trajectories?limit=100&fields=${fieldsOf(columns)}${filter === '' ? '' : `&${filter}`}`;
  const pages = usePages<ApiTrajectory>(url);
  const [news, setNews] = useState(0);
  useLive({ run, types: ['TrajectoryFinished'], onEvent: () => setNews((count) => count + 1), onGap: () => setNews(Infinity) });
  useEffect(() => setNews(0), [filter]);
  const showNews = (): void => {
    setNews(0);
    pages.again();
  };
  return (
    <div class="fill">
      <div class="head">
        <h1>Trajectories</h1>
        <Order />
        {news > 0 && (
          <button type="button" class="chip live" onClick={showNews}>
            {since(news)} finished since: show
          </button>
        )}
      </div>
      <RunTabs run={run} />
      <Filters />
      <ColumnChoice chosen={columns} />
      {pages.problem !== undefined && <Failed problem={pages.problem} />}
      {pages.items.length === 0 ? (
        pages.loading ? (
          <Loading of="the trajectories" />
        ) : (
          pages.problem === undefined && (
            <Empty>{filter === '' ? 'No trajectory has finished yet.' : 'No trajectory fits these filters.'}</Empty>
          )
        )
      ) : (
        <TrajectoryList key={filter} run={run} rows={pages.items} pages={pages} filter={filter} columns={columns} />
      )}
    </div>
  );
}

const directions = {
  finished_at: { desc: 'newest first ↓', asc: 'oldest first ↑' },
  other: { desc: 'most first ↓', asc: 'least first ↑' },
} as const;

/** The direction of the sort order; the column headers choose the column. */
function Order(): JSX.Element {
  const direction = parameter('order') === 'asc' ? 'asc' : 'desc';
  const names = directions[(parameter('sort') ?? 'finished_at') === 'finished_at' ? 'finished_at' : 'other'];
  return (
    <button type="button" class="chip" onClick={() => change({ order: direction === 'asc' ? '' : 'asc' })}>
      {names[direction]}
    </button>
  );
}

function ColumnChoice({ chosen }: { readonly chosen: readonly TrajectoryColumn[] }): JSX.Element {
  const toggle = (column: TrajectoryColumn): void => {
    const others = trajectoryColumns.filter((one) => (one === column ? !chosen.includes(one) : chosen.includes(one)));
    change({ columns: nameOfColumns(others) });
  };
  return (
    <details class="choice">
      <summary>
        Columns <small>{chosen.length + 1}</small>
      </summary>
      <div class="chips" role="group" aria-label="Columns">
        {trajectoryColumns.map((column) => (
          <button key={column.key} type="button" class="chip" aria-pressed={chosen.includes(column)} onClick={() => toggle(column)}>
            {column.name}
          </button>
        ))}
        <button type="button" class="chip" onClick={() => change({ columns: '' })}>
          as at first
        </button>
      </div>
    </details>
  );
}
