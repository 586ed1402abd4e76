// Evaluations: scores with 95% intervals, in total and by level, and each answer.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import { figure, since } from '../kit/format.ts';
import { Badge, Stat, Text, When } from '../kit/parts.tsx';
import { Empty, Failed, Loading, NotRecorded, Waiting } from '../kit/states.tsx';
import { visible } from '../kit/visible.ts';
import { Table, type TableColumn } from '../kit/table.tsx';
import { address, type PatternParts } from '../shell/patterns.ts';
import { useTitle } from '../shell/title.ts';
import { EvaluationCompare } from './evaluation-compare.tsx';
import { usePages, type LoadedPages } from './pages-of.ts';
import type { ApiPage, NumberOrNull } from '../data/shapes.ts';

interface ApiEvaluation {
  readonly run_id: string;
  readonly evaluation_id: string;
  readonly status: string;
  readonly dataset: string;
  readonly split: string;
  readonly policy_version: number;
  readonly questions: number;
  readonly samples: number;
  readonly avg_f1: NumberOrNull;
  readonly avg_em: NumberOrNull;
  readonly pass_f1: NumberOrNull;
  readonly reward_mean: NumberOrNull;
  readonly completed_at: string | null;
  readonly subject: string;
}

interface ApiLevel {
  readonly level: string;
  readonly questions: number;
  readonly answers: number;
  readonly avg_f1: NumberOrNull;
  readonly avg_f1_low: NumberOrNull;
  readonly avg_f1_high: NumberOrNull;
  readonly avg_em: NumberOrNull;
  readonly pass_f1: NumberOrNull;
  readonly turns_mean: NumberOrNull;
  readonly unanswered: number;
}

interface Score {
  readonly question_id: string;
  readonly run_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly sample: number;
  readonly answer: string;
  readonly status: string;
  readonly f1: NumberOrNull;
  readonly em: NumberOrNull;
  readonly verdict: string;
  readonly judge_reason: string;
}

const pathOf = (evaluation: string): string => `/evaluations/${encodeURIComponent(evaluation)}`;

const columns: readonly TableColumn<ApiEvaluation>[] = [
  {
    name: 'Evaluation',
    of: ({ evaluation_id }) => (
      <a href={pathOf(evaluation_id)}>
        <Text>{evaluation_id}</Text>
      </a>
    ),
  },
  { name: 'Status', of: ({ status }) => <Badge state={status} /> },
  {
    name: 'Run',
    of: ({ run_id }) => (
      <a href={address('/runs/:run', { run: run_id })}>
        <Text>{run_id}</Text>
      </a>
    ),
  },
  { name: 'Version', number: true, of: ({ policy_version }) => (policy_version < 0 ? '–' : `v${policy_version}`) },
  { name: 'Questions', of: ({ dataset, split }) => <Text>{`${dataset} ${split}`}</Text> },
  { name: 'F1', number: true, of: ({ avg_f1, status }) => (status === 'running' ? '–' : figure(avg_f1)) },
  { name: 'Exact', number: true, of: ({ avg_em, status }) => (status === 'running' ? '–' : figure(avg_em)) },
  { name: 'Best of samples', number: true, of: ({ pass_f1, status }) => (status === 'running' ? '–' : figure(pass_f1)) },
  { name: 'Asked', number: true, of: ({ questions, samples }) => `${figure(questions)} × ${figure(samples)}` },
  { name: 'Completed', of: ({ completed_at }) => <When at={completed_at} /> },
];

const NEWEST = '/v1/evaluations?limit=100';

/** The loaded evaluations. Once an evaluation has begun or ended, the newest page is requested again and merged with them. */
function useEvaluations(): LoadedPages<ApiEvaluation> {
  const pages = usePages<ApiEvaluation>(NEWEST);
  const [heard, setHeard] = useState(false);
  const hear = (): void => setHeard(true);
  useLive({ types: ['EvaluationStarted', 'EvaluationCompleted'], refreshes: [NEWEST], onEvent: hear, onGap: hear });
  const newest = useAnswer<ApiPage<ApiEvaluation>>(heard ? NEWEST : undefined).value?.items ?? [];
  const known = new Set(newest.map(({ evaluation_id }) => evaluation_id));
  return { ...pages, items: [...newest, ...pages.items.filter(({ evaluation_id }) => !known.has(evaluation_id))] };
}

export function Evaluations(): JSX.Element {
  useTitle('Evaluations');
  const pages = useEvaluations();
  return (
    <>
      <div class="head">
        <h1>Evaluations</h1>
      </div>
      {pages.problem !== undefined && <Failed problem={pages.problem} />}
      {pages.items.length === 0 && (pages.loading ? <Loading of="the evaluations" /> : pages.problem === undefined && <None />)}
      {pages.items.length > 0 && (
        <Table label="Evaluations" rows={pages.items} columns={columns} keyOf={({ evaluation_id }) => evaluation_id} />
      )}
      {!pages.isWhole && (
        <button type="button" class="chip" onClick={pages.more}>
          Earlier evaluations
        </button>
      )}
    </>
  );
}

const None = (): JSX.Element => (
  <Empty>
    No policy was evaluated yet: <code>turnstream evaluate</code> asks held-out questions.
  </Empty>
);

export function EvaluationPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const id = parts['evaluation'] ?? '';
  useTitle(`Evaluation ${id}`);
  const url = `/v1/evaluations/${encodeURIComponent(id)}`;
  const shown = useAnswer<ApiEvaluation>(url);
  const results = useAnswer<{ readonly overall: ApiLevel | null; readonly levels: readonly ApiLevel[] }>(`${url}/results`);
  const scores = usePages<Score>(`${url}/scores?limit=200`);
  const [news, setNews] = useState(0);
  useLive({
    types: ['EvaluationStarted', 'AnswerScored', 'EvaluationCompleted'],
    refreshes: [`${url}?`, `${url}/results`],
    concerns: ({ event }) => event['evaluation_id'] === id,
    onEvent: ({ type }) => setNews((count) => (type === 'AnswerScored' ? count + 1 : count)),
    onGap: () => setNews(Infinity),
  });
  return (
    <>
      <Waiting shown={shown} of="the evaluation">
        {(value) => (
          <>
            <div class="head">
              <h1>
                <Text>{value.evaluation_id}</Text>
              </h1>
              <Badge state={value.status} />
              <small>
                of{' '}
                <a href={address('/runs/:run', { run: value.run_id })}>
                  <Text>{value.run_id}</Text>
                </a>
                , <Text>{`${value.dataset} ${value.split}`}</Text>
              </small>
            </div>
            <dl class="stats">
              <Stat
                name="F1"
                value={value.avg_f1}
                note={value.policy_version < 0 ? visible(value.subject) : `version ${value.policy_version}`}
              />
              <Stat name="Exact" value={value.avg_em} />
              <Stat name="Best of samples" value={value.pass_f1} note={`${figure(value.samples)} samples`} />
              <Stat name="Questions" value={value.questions} />
              <Stat name="Reward" value={value.reward_mean} />
            </dl>
          </>
        )}
      </Waiting>
      <h2>By level, with 95 % intervals</h2>
      <Waiting shown={results} of="the results">
        {({ overall, levels }) => <Levels levels={overall === null ? levels : [overall, ...levels]} />}
      </Waiting>
      <EvaluationCompare evaluation={id} />
      <h2>Answers</h2>
      {news > 0 && (
        <button
          type="button"
          class="chip live"
          onClick={() => {
            setNews(0);
            scores.again();
          }}
        >
          {since(news)} since: show
        </button>
      )}
      {scores.problem !== undefined && <Failed problem={scores.problem} />}
      {scores.items.length === 0 ? (
        scores.loading ? (
          <Loading of="the answers" />
        ) : (
          <NotRecorded>No answer of this evaluation is scored.</NotRecorded>
        )
      ) : (
        <Table
          label="Answers"
          rows={scores.items}
          columns={scoreColumns}
          keyOf={(row) => `${row.question_id} ${row.sample} ${row.trajectory_id}`}
        />
      )}
      {!scores.isWhole && (
        <button type="button" class="chip" onClick={scores.more}>
          More answers
        </button>
      )}
    </>
  );
}

const scoreColumns: readonly TableColumn<Score>[] = [
  { name: 'Question', of: ({ question_id }) => <Text>{question_id}</Text> },
  { name: 'Sample', number: true, of: ({ sample }) => figure(sample) },
  {
    name: 'Answer',
    of: ({ answer, run_id, trajectory_id, attempt }) => (
      <a href={address('/runs/:run/t/:trajectory', { run: run_id, trajectory: trajectory_id }, { attempt })}>
        <Text>{answer === '' ? '(none)' : answer.slice(0, 120)}</Text>
      </a>
    ),
  },
  { name: 'Status', of: ({ status }) => <Badge state={status} /> },
  { name: 'F1', number: true, of: ({ f1 }) => figure(f1) },
  { name: 'Exact', number: true, of: ({ em }) => figure(em) },
  {
    name: 'Judge',
    of: ({ verdict, judge_reason }) => (
      <span title={visible(judge_reason).slice(0, 500)}>
        <Text>{verdict === '' ? '–' : verdict}</Text>
      </span>
    ),
  },
];

function Levels({ levels }: { readonly levels: readonly ApiLevel[] }): JSX.Element {
  if (levels.length === 0) return <NotRecorded>No answer of this evaluation is scored.</NotRecorded>;
  const rows: readonly TableColumn<ApiLevel>[] = [
    { name: 'Level', of: ({ level }) => <Text>{level}</Text> },
    { name: 'F1', number: true, of: ({ avg_f1 }) => figure(avg_f1) },
    { name: '95 % interval', of: (row) => <Interval of={row} /> },
    { name: 'Exact', number: true, of: ({ avg_em }) => figure(avg_em) },
    { name: 'Best of samples', number: true, of: ({ pass_f1 }) => figure(pass_f1) },
    { name: 'Questions', number: true, of: ({ questions }) => figure(questions) },
    { name: 'Unanswered', number: true, of: ({ unanswered }) => figure(unanswered) },
  ];
  return <Table label="Levels" rows={levels} columns={rows} keyOf={({ level }) => level} />;
}

const Interval = ({ of: { avg_f1, avg_f1_low: low, avg_f1_high: high } }: { readonly of: ApiLevel }): JSX.Element =>
  low === null || high === null ? (
    <>–</>
  ) : (
    <span class="inline">
      <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={`from ${figure(low)} to ${figure(high)}`}>
        <rect width="100" height="8" class="track" />
        <rect x={100 * low} width={Math.max(1, 100 * (high - low))} y="2" height="4" class="part" />
        <rect x={100 * (avg_f1 ?? 0)} width="1.5" height="8" class="mean" />
      </svg>
      {figure(low)} to {figure(high)}
    </span>
  );
