// The rows of the list of trajectories. All have the same height, and only visible ones are rendered. The selection and the scroll position
// are restored when the reader returns.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiTrajectory } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { ROW_PX, rowsAt, scrollFor } from '../kit/window.ts';
import { compareWithMarked, mark } from '../shell/mark.ts';
import { openKeys, useKeys } from '../shell/keys.ts';
import { address } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import type { LoadedPages } from './pages-of.ts';
import type { TrajectoryColumn } from './trajectory-columns.tsx';

const linkTo = (run: string, { trajectory_id, attempt }: ApiTrajectory, filter: string): string =>
  address('/runs/:run/t/:trajectory', { run, trajectory: trajectory_id }, { attempt, of: filter });

const QUESTION_PX = 240;
const GAP_PX = 10;

interface TrajectoryListProps {
  readonly run: string;
  readonly rows: readonly ApiTrajectory[];
  readonly pages: LoadedPages<ApiTrajectory>;
  readonly filter: string;
  readonly columns: readonly TrajectoryColumn[];
}

interface ScrollPosition {
  readonly top: number;
  readonly at: number;
}

/** Scroll positions by run and filter. */
const listPlaces = new Map<string, ScrollPosition>();
const MOST_PLACES = 20;

function remember(name: string, where: ScrollPosition): void {
  listPlaces.delete(name);
  listPlaces.set(name, where);
  for (const oldest of listPlaces.keys()) if (listPlaces.size > MOST_PLACES) listPlaces.delete(oldest);
}

export function TrajectoryList({ run, rows, pages: { isWhole, more }, filter, columns }: TrajectoryListProps): JSX.Element {
  const name = `${run} ${filter}`;
  const before = useRef(listPlaces.get(name) ?? { top: 0, at: -1 });
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(before.current.top);
  const [height, setHeight] = useState(600);
  const [at, setAt] = useState(before.current.at);
  useEffect(() => {
    setHeight(box.current?.clientHeight ?? 600);
    if (box.current !== null) box.current.scrollTop = before.current.top;
  }, []);
  useEffect(() => remember(name, { top, at }), [top, at]);
  const { from, to } = rowsAt(top, height, rows.length);
  useEffect(() => {
    if (to >= rows.length - 20) more();
  }, [to, rows.length]);
  const select = (row: number): void => {
    const chosen = Math.max(0, Math.min(rows.length - 1, row));
    setAt(chosen);
    if (box.current !== null) box.current.scrollTop = scrollFor(chosen, box.current.scrollTop, box.current.clientHeight);
  };
  const chosen = rows[at];
  useKeys('Trajectories', [
    { keys: ['j', 'ArrowDown'], does: 'Next', run: () => select(at + 1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous', run: () => select(at - 1) },
    { keys: ['g g'], does: 'First', run: () => select(0) },
    { keys: ['G'], does: 'Last loaded', run: () => select(rows.length - 1) },
    ...openKeys(() => (chosen === undefined ? undefined : linkTo(run, chosen, filter))),
    { keys: ['m'], does: 'Mark', run: () => chosen !== undefined && mark(run, chosen) },
    { keys: ['d'], does: 'Compare to the marked one', run: () => chosen !== undefined && compareWithMarked(run, chosen) },
    { keys: ['/'], does: 'Filter', run: () => document.getElementById('add-filter')?.focus() },
  ]);
  const widths = columns.map(({ px }) => `${px}px`).join(' ');
  const wide = columns.reduce((sum, { px }) => sum + px + GAP_PX, QUESTION_PX + 2 * GAP_PX);
  return (
    <>
      <div
        ref={box}
        class="rows"
        tabIndex={0}
        role="table"
        aria-label="Trajectories"
        aria-rowcount={isWhole ? rows.length + 1 : -1}
        style={{ '--columns': `minmax(${QUESTION_PX}px, 1fr) ${widths}`, '--row-wide': `${wide}px` }}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <Heads columns={columns} />
        <div role="rowgroup" class="body" style={{ height: `${rows.length * ROW_PX}px` }}>
          {rows.slice(from, to).map((row, index) => (
            <div
              key={`${row.trajectory_id} ${row.attempt}`}
              class="row"
              role="row"
              aria-rowindex={from + index + 2}
              aria-selected={from + index === at}
              style={{ transform: `translateY(${(from + index) * ROW_PX}px)` }}
            >
              <span role="cell">
                <a href={linkTo(run, row, filter)}>
                  <Text title>{row.question === '' ? row.trajectory_id : row.question}</Text>
                </a>
              </span>
              {columns.map(({ key, isNumber, fields, of }) => (
                <span key={key} role="cell" class={isNumber === true ? 'number' : ''}>
                  {fields.some((field) => row[field] === undefined) ? '…' : of(row)}
                </span>
              ))}
            </div>
          ))}
        </div>
      </div>
      <p class="note" role="status">
        {figure(rows.length)} {isWhole ? 'trajectories, all of them' : 'loaded; more come as you scroll'}
      </p>
    </>
  );
}

/** Headers of sortable columns are buttons; a second press reverses the order. */
function Heads({ columns }: { readonly columns: readonly TrajectoryColumn[] }): JSX.Element {
  const sort = parameter('sort') ?? 'finished_at';
  const isAscending = parameter('order') === 'asc';
  const sortBy = (by: string): void =>
    by === sort ? change({ order: isAscending ? '' : 'asc' }, true) : change({ sort: by === 'finished_at' ? '' : by, order: '' }, true);
  return (
    <div role="rowgroup" class="heads">
      <div class="row heading" role="row">
        <span role="columnheader">Question</span>
        {columns.map(({ key, name, sort: by, isNumber }) => (
          <span
            key={key}
            role="columnheader"
            class={isNumber === true ? 'number' : ''}
            aria-sort={by !== sort ? undefined : isAscending ? 'ascending' : 'descending'}
          >
            {by === undefined ? (
              name
            ) : (
              <button type="button" class="plain" onClick={() => sortBy(by)}>
                {name}
                {by === sort && (isAscending ? ' ↑' : ' ↓')}
              </button>
            )}
          </span>
        ))}
      </div>
    </div>
  );
}
