// Finished attempts of a run, narrowed by any filter of the API, with what became of each.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLive } from '../data/live.ts';
import type { ApiTrajectory } from '../data/shapes.ts';
import { duration, figure, versions } from '../kit/format.ts';
import { Badge, RunTabs, Text, When } from '../kit/parts.tsx';
import { Empty, Failed, Loading } from '../kit/states.tsx';
import { ROW_PX, rowsAt, scrollFor } from '../kit/window.ts';
import { useKeys } from '../shell/keys.ts';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, go, parameter, place } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { Filters } from './filter-chips.tsx';
import { filterQuery } from './filters.ts';
import { usePages } from './pages-of.ts';

const fields = [
  ...['trajectory_id', 'attempt', 'question', 'status', 'reward', 'f1', 'turns', 'tool_errors', 'completion_tokens', 'version_first'],
  ...['version_last', 'worker_id', 'started_at', 'finished_at', 'fate'],
].join(',');

const linkTo = (run: string, { trajectory_id, attempt }: ApiTrajectory, filter: string): string =>
  address('/runs/:run/t/:trajectory', { run, trajectory: trajectory_id }, { attempt: attempt === 0 ? undefined : attempt, of: filter });

export function Trajectories({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  useTitle(`Trajectories of ${run}`);
  const filter = filterQuery(place.value.searchParams);
  const pages = usePages<ApiTrajectory>(
    `/v1/runs/${encodeURIComponent(run)}/trajectories?limit=100&fields=${fields}${filter === '' ? '' : `&${filter}`}`,
  );
  const [news, setNews] = useState(0);
  useLive({ run, types: ['TrajectoryFinished'], onEvent: () => setNews((count) => count + 1) });
  useEffect(() => setNews(0), [filter]);
  const showNews = (): void => {
    setNews(0);
    pages.again();
  };
  return (
    <div class="fill">
      <div class="head">
        <h1>Trajectories</h1>
        <button type="button" class="chip" onClick={() => change({ order: parameter('order') === 'asc' ? '' : 'asc' })}>
          {parameter('order') === 'asc' ? 'oldest first ↑' : 'newest first ↓'}
        </button>
        {news > 0 && (
          <button type="button" class="chip live" onClick={showNews}>
            {figure(news)} finished since: show
          </button>
        )}
      </div>
      <RunTabs run={run} />
      <Filters />
      {pages.problem !== undefined && <Failed problem={pages.problem} />}
      {pages.items.length === 0 ? (
        pages.loading ? (
          <Loading of="the trajectories" />
        ) : (
          <Empty>{filter === '' ? 'No trajectory has finished yet.' : 'No trajectory fits these filters.'}</Empty>
        )
      ) : (
        <List run={run} rows={pages.items} isWhole={pages.isWhole} more={pages.more} filter={filter} />
      )}
    </div>
  );
}

interface ListProps {
  readonly run: string;
  readonly rows: readonly ApiTrajectory[];
  readonly isWhole: boolean;
  readonly more: () => void;
  readonly filter: string;
}

function List({ run, rows, isWhole, more, filter }: ListProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [at, setAt] = useState(-1);
  useEffect(() => setHeight(box.current?.clientHeight ?? 600), []);
  const { from, to } = rowsAt(top, height, rows.length);
  useEffect(() => {
    if (to >= rows.length - 20) more();
  }, [to, rows.length]);
  const select = (row: number): void => {
    const chosen = Math.max(0, Math.min(rows.length - 1, row));
    setAt(chosen);
    if (box.current !== null) box.current.scrollTop = scrollFor(chosen, box.current.scrollTop, box.current.clientHeight);
  };
  useKeys('Trajectories', [
    { keys: ['j', 'ArrowDown'], does: 'Next', run: () => select(at + 1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous', run: () => select(at - 1) },
    { keys: ['g g'], does: 'First', run: () => select(0) },
    { keys: ['G'], does: 'Last that is loaded', run: () => select(rows.length - 1) },
    { keys: ['Enter', 'o'], does: 'Open', run: () => rows[at] !== undefined && go(linkTo(run, rows[at], filter)) },
    { keys: ['/'], does: 'Filter', run: () => document.getElementById('add-filter')?.focus() },
  ]);
  return (
    <>
      <div
        ref={box}
        class="rows"
        tabIndex={0}
        role="table"
        aria-label="Trajectories"
        aria-rowcount={isWhole ? rows.length + 1 : -1}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <div class="row heading" role="row">
          {['Question', 'Reward', 'F1', 'Turns', 'Errors', 'Tokens', 'Versions', 'Took', 'Status', 'Fate', 'Finished', 'Id'].map((name) => (
            <span key={name} role="columnheader">
              {name}
            </span>
          ))}
        </div>
        <div role="rowgroup" class="body" style={{ height: `${rows.length * ROW_PX}px` }}>
          {rows.slice(from, to).map((row, index) => (
            <Row
              key={`${row.trajectory_id} ${row.attempt}`}
              run={run}
              row={row}
              at={from + index}
              selected={from + index === at}
              filter={filter}
            />
          ))}
        </div>
      </div>
      <p class="note" role="status">
        {figure(rows.length)} {isWhole ? 'trajectories, all of them' : 'loaded; more come as you scroll'}
      </p>
    </>
  );
}

interface RowProps {
  readonly run: string;
  readonly row: ApiTrajectory;
  readonly at: number;
  readonly selected: boolean;
  readonly filter: string;
}

function Row({ run, row, at, selected, filter }: RowProps): JSX.Element {
  const took = row.started_at === null || row.finished_at === null ? undefined : Date.parse(row.finished_at) - Date.parse(row.started_at);
  const step = row.fate === 'trained' ? `step ${row.fate_step ?? ''}` : (row.fate_reason ?? '');
  return (
    <div class="row" role="row" aria-rowindex={at + 2} aria-selected={selected} style={{ transform: `translateY(${at * ROW_PX}px)` }}>
      <span role="cell" class="wide">
        <a href={linkTo(run, row, filter)}>
          <Text title>{row.question === '' ? row.trajectory_id : row.question}</Text>
        </a>
      </span>
      <span role="cell">{figure(row.reward)}</span>
      <span role="cell">{figure(row.f1)}</span>
      <span role="cell">{figure(row.turns)}</span>
      <span role="cell" class={row.tool_errors > 0 ? 'bad' : ''}>
        {figure(row.tool_errors)}
      </span>
      <span role="cell">{figure(row.completion_tokens)}</span>
      <span role="cell">{versions(row.version_first, row.version_last)}</span>
      <span role="cell">{duration(took)}</span>
      <span role="cell">
        <Badge state={row.status} />
      </span>
      <span role="cell">
        <Badge state={row.fate ?? ''} note={step} />
      </span>
      <span role="cell">
        <When at={row.finished_at} />
      </span>
      <span role="cell" class="dim">
        <Text>{row.attempt === 0 ? row.trajectory_id : `${row.trajectory_id} #${row.attempt}`}</Text>
      </span>
    </div>
  );
}
