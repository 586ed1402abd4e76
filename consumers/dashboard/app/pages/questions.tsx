// The questions of a run, and the answers to one question by policy version.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import { figure, percent } from '../kit/format.ts';
import { Badge, Text } from '../kit/parts.tsx';
import { RunPage, runUrl } from '../kit/run-page.tsx';
import { Empty, Failed, Loading, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { address, type PatternParts } from '../shell/patterns.ts';
import { change, parameter } from '../shell/place.ts';
import { usePages } from './pages-of.ts';
import type { NumberOrNull } from '../data/shapes.ts';

interface ApiQuestion {
  readonly question_id: string;
  readonly text: string;
  readonly tries: number;
  readonly right_answers: number;
  readonly reward_mean: NumberOrNull;
  readonly outcome: string;
  readonly flips: number;
  readonly first_version: number;
  readonly last_version: number;
}

const outcomes = ['', 'never', 'flips', 'always'] as const;

export function Questions({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const outcome = parameter('outcome') ?? '';
  const pages = usePages<ApiQuestion>(
    runUrl(run, `/questions?limit=200${outcome === '' ? '' : `&outcome=${encodeURIComponent(outcome)}`}`),
  );
  const columns: readonly TableColumn<ApiQuestion>[] = [
    {
      name: 'Question',
      of: ({ question_id, text }) => (
        <a href={address('/runs/:run/questions/:question', { run, question: question_id })}>
          <Text title>{text.slice(0, 110)}</Text>
        </a>
      ),
    },
    { name: 'Answered', of: ({ outcome: one }) => <Badge state={one} /> },
    { name: 'Tries', number: true, of: ({ tries }) => figure(tries) },
    { name: 'Right', number: true, of: ({ tries, right_answers }) => percent(right_answers / tries) },
    { name: 'Reward', number: true, of: ({ reward_mean }) => figure(reward_mean) },
    { name: 'Flips', number: true, of: ({ flips }) => figure(flips) },
    { name: 'Versions', of: ({ first_version, last_version }) => `v${first_version}–v${last_version}` },
    { name: 'Id', of: ({ question_id }) => <Text>{question_id}</Text> },
  ];
  return (
    <RunPage
      run={run}
      title="Questions"
      beside={
        <div class="chips" role="group" aria-label="Answered">
          {outcomes.map((one) => (
            <button key={one} type="button" class="chip" aria-pressed={outcome === one} onClick={() => change({ outcome: one })}>
              {one === '' ? 'all' : one}
            </button>
          ))}
        </div>
      }
    >
      {pages.problem !== undefined && <Failed problem={pages.problem} />}
      {pages.items.length === 0 &&
        (pages.loading ? (
          <Loading of="the questions" />
        ) : (
          pages.problem === undefined && <Empty>No question of this run {outcome === '' ? 'is answered yet.' : 'has this outcome.'}</Empty>
        ))}
      {pages.items.length > 0 && <Table label="Questions" rows={pages.items} columns={columns} keyOf={({ question_id }) => question_id} />}
      {!pages.isWhole && (
        <button type="button" class="chip" onClick={pages.more}>
          More questions
        </button>
      )}
    </RunPage>
  );
}

interface ApiAnswerOfVersion {
  readonly version: number;
  readonly answer: string;
  readonly tries: number;
  readonly right_answers: number;
  readonly reward_mean: NumberOrNull;
  readonly turns_mean: NumberOrNull;
  readonly trajectory_id: string;
  readonly attempt: number;
}

interface History {
  readonly question: string;
  readonly items: readonly ApiAnswerOfVersion[];
  readonly is_whole: boolean;
}

export function QuestionPage({ parts }: { readonly parts: PatternParts }): JSX.Element {
  const run = parts['run'] ?? '';
  const question = parts['question'] ?? '';
  const shown = useAnswer<History>(runUrl(run, `/questions/${encodeURIComponent(question)}`));
  return (
    <RunPage run={run} title={`Question ${question}`}>
      <Waiting shown={shown} of="the answers">
        {(history) => (
          <>
            <p>
              <Text>{history.question}</Text>{' '}
              <a href={address('/runs/:run/trajectories', { run }, { question_id: question })}>Trajectories</a>
            </p>
            {!history.is_whole && <p class="note">There are more answers than one page holds; the first versions are shown.</p>}
            <History run={run} items={history.items} />
          </>
        )}
      </Waiting>
    </RunPage>
  );
}

const COLORS = 4;
const MOST_BARS = 240;
/** Answers that are listed at first, and how many each press adds. */
const ANSWERS = 500;

/** Versions on the x axis, one stacked bar each. The most frequent answers have colors, the others are gray. */
function History({ run, items }: { readonly run: string; readonly items: readonly ApiAnswerOfVersion[] }): JSX.Element {
  const [listed, setListed] = useState(ANSWERS);
  const totals = new Map<string, number>();
  for (const { answer, tries } of items) totals.set(answer, (totals.get(answer) ?? 0) + tries);
  const frequent = [...totals]
    .sort((a, b) => b[1] - a[1])
    .slice(0, COLORS)
    .map(([answer]) => answer);
  const allVersions = [...new Set(items.map(({ version }) => version))].sort((a, b) => a - b);
  const versions = allVersions.slice(-MOST_BARS);
  const width = 1_000 / Math.max(1, versions.length);
  const columns: readonly TableColumn<ApiAnswerOfVersion>[] = [
    { name: 'Version', of: ({ version }) => `v${version}` },
    {
      name: 'Answer',
      of: ({ answer, trajectory_id, attempt }) => (
        <a href={address('/runs/:run/t/:trajectory', { run, trajectory: trajectory_id }, { attempt })}>
          <Text>{answer === '' ? '(none)' : answer.slice(0, 120)}</Text>
        </a>
      ),
    },
    { name: 'Tries', number: true, of: ({ tries }) => figure(tries) },
    { name: 'Right', number: true, of: ({ right_answers }) => figure(right_answers) },
    { name: 'Reward', number: true, of: ({ reward_mean }) => figure(reward_mean) },
    { name: 'Turns', number: true, of: ({ turns_mean }) => figure(turns_mean) },
  ];
  return (
    <>
      <figure class="chart history">
        <figcaption>
          <b>Answers by version</b>
          {frequent.map((answer, at) => (
            <span key={answer} class={`series run-${at + 1}`}>
              <span aria-hidden="true" /> <Text>{answer === '' ? '(none)' : answer.slice(0, 40)}</Text> {figure(totals.get(answer))}
            </span>
          ))}
        </figcaption>
        <svg
          viewBox="0 0 1000 100"
          preserveAspectRatio="none"
          role="img"
          aria-label={`${totals.size} different answers over ${allVersions.length} versions`}
        >
          {versions.map((version, place) => {
            const bars = items.filter((item) => item.version === version);
            const all = bars.reduce((sum, { tries }) => sum + tries, 0);
            let top = 100;
            return bars.map(({ answer, tries, right_answers }) => {
              const height = (100 * tries) / all;
              top -= height;
              const rank = frequent.indexOf(answer);
              return (
                <rect
                  key={`${version} ${answer}`}
                  class={`answer-${rank + 1} ${right_answers > 0 ? 'right' : ''}`}
                  x={place * width}
                  width={Math.max(0.6, width - (width > 4 ? 1 : 0))}
                  y={top}
                  height={height}
                />
              );
            });
          })}
        </svg>
      </figure>
      <p class="note">
        {figure(totals.size)} different answers over {figure(allVersions.length)} versions
        {allVersions.length > MOST_BARS && `; the newest ${MOST_BARS} versions are drawn`}. Right answers are solid.
      </p>
      <Table
        label="Answers"
        rows={[...items].reverse().slice(0, listed)}
        columns={columns}
        keyOf={({ version, answer }) => `${version} ${answer}`}
      />
      {items.length > listed && (
        <p class="note">
          The newest {figure(listed)} of {figure(items.length)} answers.{' '}
          <button type="button" class="chip" onClick={() => setListed(listed + ANSWERS)}>
            More answers
          </button>
        </p>
      )}
    </>
  );
}
