// Compares two or more runs: curves over the same steps, and differences in settings and results.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Overlay } from '../charts/overlay.tsx';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, ApiRun } from '../data/shapes.ts';
import { Text } from '../kit/parts.tsx';
import { runUrl } from '../kit/run-page.tsx';
import { Empty, Failed, Loading, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { change, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';

const MOST_RUNS = 6;
const series = ['reward_mean', 'f1_mean', 'staleness_mean', 'turns_mean', 'entropy', 'discarded_stale'] as const;

interface SettingDifference {
  readonly kind: string;
  readonly name: string;
  readonly this_run: string;
  readonly other_run: string;
  readonly differs: boolean;
}

export function Compare(): JSX.Element {
  useTitle('Compare');
  const runs = [...new Set((parameter('runs') ?? '').split(',').filter(Boolean))].slice(0, MOST_RUNS);
  const all = useAnswer<ApiPage<ApiRun>>('/v1/runs?limit=200&fields=run_id,status');
  const toggle = (run: string): void =>
    change({ runs: (runs.includes(run) ? runs.filter((one) => one !== run) : [...runs, run].slice(-MOST_RUNS)).join(',') }, true);
  return (
    <>
      <div class="head">
        <h1>Compare</h1>
      </div>
      <Waiting shown={all} of="the runs">
        {({ items }) => (
          <div class="chips" role="group" aria-label="Runs">
            {items.map(({ run_id }) => (
              <button key={run_id} type="button" class="chip" aria-pressed={runs.includes(run_id)} onClick={() => toggle(run_id)}>
                {run_id}
              </button>
            ))}
          </div>
        )}
      </Waiting>
      {runs.length < 2 ? (
        <Empty>Choose two or more runs.</Empty>
      ) : (
        <>
          <div class="charts">
            {series.map((name) => (
              <Overlay key={`${name} ${runs.join()}`} runs={runs} name={name} />
            ))}
          </div>
          <Differences key={runs.join()} runs={runs} />
        </>
      )}
    </>
  );
}

/** Settings and results; only those that differ, unless all are requested. */
function Differences({ runs }: { readonly runs: readonly string[] }): JSX.Element {
  const [first = '', ...others] = runs;
  const [whole, setWhole] = useState(false);
  const shown = others.map((other) =>
    useAnswer<{ readonly items: readonly SettingDifference[] }>(runUrl(first, `/compare?with=${encodeURIComponent(other)}`)),
  );
  const problem = shown.find((one) => one.problem !== undefined)?.problem;
  if (problem !== undefined) return <Failed problem={problem} />;
  if (shown.some((one) => one.value === undefined)) return <Loading of="the differences" />;
  const base = shown[0]?.value?.items ?? [];
  const valueOf = (at: number, name: string, kind: string): string =>
    shown[at]?.value?.items.find((item) => item.name === name && item.kind === kind)?.other_run ?? '';
  const rows = base.filter((row) => whole || others.some((_, at) => valueOf(at, row.name, row.kind) !== row.this_run));
  const columns: readonly TableColumn<SettingDifference>[] = [
    { name: 'What', of: ({ kind, name }) => `${kind}: ${name.replaceAll('_', ' ')}` },
    { name: first, of: ({ this_run }) => <Text>{this_run}</Text> },
    ...others.map((other, at): TableColumn<SettingDifference> => ({
      name: other,
      of: ({ name, kind }) => <Text>{valueOf(at, name, kind)}</Text>,
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
      {rows.length === 0 ? (
        <Empty>Nothing differs.</Empty>
      ) : (
        <Table label="Differences" rows={rows} columns={columns} keyOf={({ kind, name }) => `${kind} ${name}`} />
      )}
      {others.map((other) => (
        <p key={other} class="note">
          <a href={`/runs/${encodeURIComponent(first)}/ledger?with=${encodeURIComponent(other)}`}>
            First difference of the ledgers of {first} and {other}
          </a>
        </p>
      ))}
    </section>
  );
}
