// Compares two or more runs: curves over the same steps, differences in settings, results, and costs, and the questions of both.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { curvesUrl, reductionOf } from '../charts/figures.ts';
import { Overlay } from '../charts/overlay.tsx';
import { useAnswer } from '../data/answers.ts';
import type { ApiCurves, ApiPage, ApiRun } from '../data/shapes.ts';
import { Text } from '../kit/parts.tsx';
import { runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { change, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { SameQuestions } from './same-questions.tsx';

const MOST_RUNS = 6;
const MOST_LISTED = 200;
const POINTS = 300;
const series = ['reward_mean', 'f1_mean', 'staleness_mean', 'turns_mean', 'entropy', 'discarded_stale'] as const;
const charts = series.map((name) => ({ title: name, series: [name] }));

interface ComparedSetting {
  readonly kind: string;
  readonly name: string;
  readonly this_run: string;
  /** The values of the other runs, in the order of the request. */
  readonly other_runs: readonly string[];
  readonly differs: boolean;
}

export function Compare(): JSX.Element {
  useTitle('Compare');
  const asked = [...new Set((parameter('runs') ?? '').split(',').filter(Boolean))];
  const [runs, left] = [asked.slice(0, MOST_RUNS), asked.slice(MOST_RUNS)];
  return (
    <>
      <div class="head">
        <h1>Compare</h1>
      </div>
      <Choice asked={asked} />
      {left.length > 0 && (
        <p class="note" role="status">
          At most {MOST_RUNS} runs are compared. Left out: <Text>{left.join(', ')}</Text>.
        </p>
      )}
      {runs.length < 2 ? (
        <Empty>Choose two or more runs.</Empty>
      ) : (
        <div key={runs.join()}>
          <Overlays runs={runs} />
          <Differences runs={runs} />
          <SameQuestions runs={runs} />
        </div>
      )}
    </>
  );
}

/** A button for each run, including those of the address that are not among the listed ones. */
function Choice({ asked }: { readonly asked: readonly string[] }): JSX.Element {
  const all = useAnswer<ApiPage<Pick<ApiRun, 'run_id'>>>(`/v1/runs?limit=${MOST_LISTED}&fields=run_id,status`);
  const toggle = (run: string): void =>
    change({ runs: (asked.includes(run) ? asked.filter((one) => one !== run) : [...asked, run]).join(',') }, true);
  return (
    <Waiting shown={all} of="the runs">
      {({ items, next_cursor }) => (
        <>
          <div class="chips" role="group" aria-label="Runs">
            {[...new Set([...items.map(({ run_id }) => run_id), ...asked])].map((run) => (
              <button
                key={run}
                type="button"
                class="chip"
                aria-pressed={asked.includes(run)}
                disabled={!asked.includes(run) && asked.length >= MOST_RUNS}
                onClick={() => toggle(run)}
              >
                <Text>{run}</Text>
              </button>
            ))}
          </div>
          {next_cursor !== null && (
            <p class="note">
              The newest {MOST_LISTED} runs. Add others to the address: <code>runs=a,b</code>.
            </p>
          )}
        </>
      )}
    </Waiting>
  );
}

interface OfRuns {
  readonly runs: readonly string[];
}

const listOf = (runs: readonly string[]): string => runs.map(encodeURIComponent).join(',');

/** All curves are one request. */
function Overlays({ runs }: OfRuns): JSX.Element {
  const [first = '', ...others] = runs;
  const shown = useAnswer<ApiCurves>(`${curvesUrl(first, charts, { points: POINTS })}&with=${listOf(others)}`);
  return (
    <Waiting shown={shown} of="the curves">
      {(own) => <Charts runs={runs} own={own} />}
    </Waiting>
  );
}

function Charts({ runs, own }: OfRuns & { readonly own: ApiCurves }): JSX.Element {
  const curves = useMemo(() => [own, ...(own.others ?? [])], [own]);
  return (
    <>
      <p class="note">{curves.map((one, at) => reductionOf(runs[at] ?? '', one)).join('; ')}.</p>
      <div class="charts">
        {series.map((name) => (
          <Overlay key={name} runs={runs} curves={curves} name={name} />
        ))}
      </div>
    </>
  );
}

/** Settings, results, and costs; only those that differ, unless all are requested. */
function Differences({ runs }: OfRuns): JSX.Element {
  const [first = '', ...others] = runs;
  const [whole, setWhole] = useState(false);
  const shown = useAnswer<{ readonly items: readonly ComparedSetting[] }>(runUrl(first, `/compare?with=${listOf(others)}`));
  const columns: readonly TableColumn<ComparedSetting>[] = [
    { name: 'What', of: ({ kind, name }) => `${kind}: ${name.replaceAll('_', ' ')}` },
    { name: first, of: ({ this_run }) => <Text>{this_run}</Text> },
    ...others.map((other, at): TableColumn<ComparedSetting> => ({
      name: other,
      of: ({ other_runs }) => <Text>{other_runs[at] ?? ''}</Text>,
    })),
  ];
  return (
    <section>
      <h2>
        What differs{' '}
        <button type="button" class="chip" aria-pressed={whole} onClick={() => setWhole(!whole)}>
          all of it
        </button>
      </h2>
      <Waiting shown={shown} of="the differences">
        {({ items }) => {
          const rows = items.filter(({ differs }) => whole || differs);
          return rows.length === 0 ? (
            <Empty>Nothing differs.</Empty>
          ) : (
            <Table label="Differences" rows={rows} columns={columns} keyOf={({ kind, name }) => `${kind} ${name}`} />
          );
        }}
      </Waiting>
      {others.map((other) => (
        <p key={other} class="note">
          <a href={`/runs/${encodeURIComponent(first)}/ledger?with=${encodeURIComponent(other)}`}>
            First difference of the ledgers of <Text>{first}</Text> and <Text>{other}</Text>
          </a>
        </p>
      ))}
    </section>
  );
}
