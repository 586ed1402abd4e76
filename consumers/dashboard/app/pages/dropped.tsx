// Compares what was kept with what was discarded: whether the filters of a run bias what it learns from.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage, NumberOrNull } from '../data/shapes.ts';
import { figure, NOT_RECORDED } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Waiting } from '../kit/states.tsx';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, numberParameter } from '../shell/place.ts';
import { Histograms } from './histograms.tsx';
import { StepBrush } from './step-brush.tsx';
import { measures, verdictOf } from './texts.ts';
type DroppedFigures = Readonly<Record<string, NumberOrNull>>;

interface Reason {
  readonly reason: string;
  readonly trajectories: number;
  readonly reward_mean: NumberOrNull;
  readonly turns_mean: NumberOrNull;
  readonly tokens_mean: NumberOrNull;
  readonly staleness_mean: NumberOrNull;
  readonly reward_ks: NumberOrNull;
  readonly turns_ks: NumberOrNull;
  readonly tokens_ks: NumberOrNull;
}

interface Bias extends ApiPage<DroppedFigures> {
  readonly overall: DroppedFigures | null;
  readonly by_reason: readonly Reason[];
}

export function Dropped({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const [from, to] = [numberParameter('from'), numberParameter('to')];
  const range = `${from === undefined ? '' : `&from_step=${from}`}${to === undefined ? '' : `&to_step=${to}`}`;
  const shown = useAnswer<Bias>(runUrl(run, `/selection-bias?limit=200${range}`));
  const field = (name: 'from' | 'to', value: number | undefined): JSX.Element => (
    <label class="inline">
      {name === 'from' ? 'from step' : 'to step'}
      <input type="number" min={0} value={value ?? ''} onChange={(event) => change({ [name]: event.currentTarget.value }, true)} />
    </label>
  );
  return (
    <RunPage run={run} title="Kept against dropped">
      <div class="chips">
        {field('from', from)}
        {field('to', to)}
      </div>
      <StepBrush run={run} from={from} to={to} />
      <Waiting shown={shown} of="what was kept and dropped">
        {(bias) => (bias.overall === null ? <Empty>No step in this range has been trained yet.</Empty> : <Report run={run} bias={bias} />)}
      </Waiting>
      <Histograms run={run} from={from} to={to} />
    </RunPage>
  );
}

function Report({ run, bias }: { readonly run: string; readonly bias: Bias }): JSX.Element {
  const overall = bias.overall ?? {};
  const steps: readonly TableColumn<DroppedFigures>[] = [
    { name: 'Step', of: (row) => <a href={address('/runs/:run/steps/:step', { run, step: String(row['step']) })}>{row['step']}</a> },
    { name: 'Kept', number: true, of: (row) => figure(row['kept']) },
    { name: 'Dropped', number: true, of: (row) => figure(row['discarded']) },
    ...measures.flatMap((name): TableColumn<DroppedFigures>[] => [
      { name: `${name} kept`, number: true, of: (row) => figure(row[`kept_${name}_mean`]) },
      { name: `${name} dropped`, number: true, of: (row) => figure(row[`discarded_${name}_mean`]) },
      { name: `KS ${name}`, number: true, of: (row) => figure(row[`${name}_ks`]) },
    ]),
  ];
  return (
    <>
      <p class="note">{verdictOf(overall)} KS is the largest distance between the two distributions: 0 is the same, 1 is no overlap.</p>
      <div class="columns">
        {measures.map((name) => (
          <Pair key={name} name={name} of={overall} />
        ))}
      </div>
      <h2>By reason</h2>
      <Table label="By reason" rows={bias.by_reason} columns={reasonColumns} keyOf={({ reason }) => reason} />
      <h2>By step</h2>
      <Table label="By step" rows={bias.items} columns={steps} keyOf={(row) => String(row['step'])} />
      {bias.next_cursor !== null && <p class="note">The first 200 steps of the range; narrow it to see others.</p>}
    </>
  );
}

const reasonColumns: readonly TableColumn<Reason>[] = [
  { name: 'Reason', of: ({ reason }) => <Text>{reason === '' ? 'kept' : reason.replaceAll('_', ' ')}</Text> },
  { name: 'Trajectories', number: true, of: ({ trajectories }) => figure(trajectories) },
  { name: 'Reward', number: true, of: (row) => figure(row.reward_mean) },
  { name: 'KS reward', number: true, of: (row) => (row.reason === '' ? NOT_RECORDED : figure(row.reward_ks)) },
  { name: 'Turns', number: true, of: (row) => figure(row.turns_mean) },
  { name: 'KS turns', number: true, of: (row) => (row.reason === '' ? NOT_RECORDED : figure(row.turns_ks)) },
  { name: 'Tokens', number: true, of: (row) => figure(row.tokens_mean) },
  { name: 'KS tokens', number: true, of: (row) => (row.reason === '' ? NOT_RECORDED : figure(row.tokens_ks)) },
  { name: 'Staleness', number: true, of: (row) => figure(row.staleness_mean) },
];

/** Mean, median, and 95th percentile of both sides on one axis. */
function Pair({ name, of }: { readonly name: string; readonly of: DroppedFigures }): JSX.Element {
  const sides = ['kept', 'discarded'] as const;
  const value = (side: string, what: string): number => of[`${side}_${name}_${what}`] ?? 0;
  const most = Math.max(1e-9, ...sides.map((side) => value(side, 'p95')));
  return (
    <section>
      <h2>
        {name} <small>KS {figure(of[`${name}_ks`])}</small>
      </h2>
      {sides.map((side) => (
        <div key={side} class="spread">
          <span>{side === 'kept' ? 'kept' : 'dropped'}</span>
          <svg
            viewBox="0 0 100 10"
            preserveAspectRatio="none"
            role="img"
            aria-label={`${side}: median ${figure(of[`${side}_${name}_p50`])}, 95th percentile ${figure(of[`${side}_${name}_p95`])}`}
          >
            <rect
              class={side}
              x={Math.max(0, (100 * value(side, 'p50')) / most)}
              y="2"
              height="6"
              width={Math.max(0.5, (100 * (value(side, 'p95') - value(side, 'p50'))) / most)}
            />
            <rect class="mean" x={Math.max(0, Math.min(99, (100 * value(side, 'mean')) / most))} width="0.8" height="10" />
          </svg>
          <span class="dim">
            mean {figure(of[`${side}_${name}_mean`])}, median {figure(of[`${side}_${name}_p50`])}, p95 {figure(of[`${side}_${name}_p95`])}
          </span>
        </div>
      ))}
    </section>
  );
}
