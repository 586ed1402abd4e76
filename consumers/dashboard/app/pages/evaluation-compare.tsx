// Compares two evaluations: the difference of every score, paired by question, with its interval. The other evaluation is in the address.
import type { JSX } from 'preact';
import { useAnswer } from '../data/answers.ts';
import type { ApiPage } from '../data/shapes.ts';
import { figure, percent } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { Failed, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { change, parameter } from '../shell/place.ts';
import { useOlderPages } from './older-pages.ts';

interface ComparedFigure {
  readonly name: string;
  readonly a: number;
  readonly b: number;
  readonly difference: number;
  readonly low: number;
  readonly high: number;
  readonly greater: number;
}

interface ApiComparison {
  readonly a: string;
  readonly b: string;
  readonly paired_by: string;
  readonly questions: number;
  readonly only_a: number;
  readonly only_b: number;
  readonly draws: number;
  readonly confidence: number;
  readonly figures: readonly ComparedFigure[];
}

interface NamedEvaluation {
  readonly evaluation_id: string;
}

const NEWEST = '/v1/evaluations?limit=30&fields=evaluation_id';

export function EvaluationCompare({ evaluation }: { readonly evaluation: string }): JSX.Element {
  const other = parameter('with');
  const newest = useAnswer<ApiPage<NamedEvaluation>>(NEWEST);
  const older = useOlderPages<NamedEvaluation>(NEWEST, newest.value?.next_cursor ?? null);
  const path = `/v1/evaluations/${encodeURIComponent(evaluation)}/compare?with=${encodeURIComponent(other ?? '')}`;
  const shown = useAnswer<ApiComparison>(other === undefined ? undefined : path);
  const known = [...(newest.value?.items ?? []), ...older.items].map(({ evaluation_id }) => evaluation_id);
  const others = [...new Set([...(other === undefined ? [] : [other]), ...known])].filter((id) => id !== evaluation);
  return (
    <section aria-label="Compared">
      <h2>Beside another</h2>
      <div class="chips" role="group" aria-label="Other evaluations">
        {others.map((id) => (
          <button
            key={id}
            type="button"
            class="chip"
            aria-pressed={id === other}
            onClick={() => change({ with: id === other ? '' : id }, true)}
          >
            <Text>{id}</Text>
          </button>
        ))}
        {others.length === 0 && older.isWhole && <span class="note">There is no other evaluation.</span>}
        {!older.isWhole && (
          <button type="button" class="chip" onClick={older.more} disabled={older.loading}>
            More evaluations
          </button>
        )}
      </div>
      {older.problem !== undefined && <Failed problem={older.problem} />}
      {other !== undefined && (
        <Waiting shown={shown} of="the difference">
          {(comparison) => <Paired of={comparison} />}
        </Waiting>
      )}
    </section>
  );
}

const verdictOf = ({ low, high }: ComparedFigure): string => (low > 0 ? 'more' : high < 0 ? 'less' : 'not clear');

function Paired({ of }: { readonly of: ApiComparison }): JSX.Element {
  const columns: readonly TableColumn<ComparedFigure>[] = [
    { name: 'Figure', of: ({ name }) => name.replaceAll('_', ' ') },
    { name: of.a, number: true, of: ({ a }) => figure(a) },
    { name: of.b, number: true, of: ({ b }) => figure(b) },
    { name: 'Difference', number: true, of: ({ difference }) => signed(difference) },
    { name: `${percent(of.confidence)} interval`, of: (row) => <Difference of={row} /> },
    { name: 'Greater in', number: true, of: ({ greater }) => percent(greater), title: 'Share of the draws in which the other is greater' },
    { name: 'The other has', of: verdictOf },
  ];
  const left = of.only_a + of.only_b;
  return (
    <>
      <p class="note">
        {figure(of.questions)} questions in both, paired by {of.paired_by === 'content' ? 'their words and gold answers' : 'their ids'},
        resampled {figure(of.draws)} times{left > 0 && `; ${figure(left)} questions in only one are left out`}. An interval that contains 0
        shows no clear difference.
      </p>
      <Table label="Difference" rows={of.figures} columns={columns} keyOf={({ name }) => name} />
    </>
  );
}

const signed = (value: number): string => `${value > 0 ? '+' : ''}${figure(value)}`;

/** The interval relative to zero, on an axis of its own. */
function Difference({ of: { low, high, difference } }: { readonly of: ComparedFigure }): JSX.Element {
  const most = Math.max(1e-9, Math.abs(low), Math.abs(high)) * 1.1;
  const x = (value: number): number => 50 + (50 * value) / most;
  return (
    <span class="inline">
      <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={`from ${signed(low)} to ${signed(high)}`}>
        <rect width="100" height="8" class="track" />
        <rect x={x(low)} width={Math.max(1, x(high) - x(low))} y="2" height="4" class="part" />
        <rect x="49.5" width="1" height="8" class="rest" />
        <rect x={x(difference)} width="1.5" height="8" class="mean" />
      </svg>
      {signed(low)} to {signed(high)}
    </span>
  );
}
