// The questions that the first of several runs and another one tried: how many it won and lost. One statement reads all of it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ask, isPassing, type ApiProblem, type ApiResult } from '../data/request.ts';
import { figure } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { Failed, Loading } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { SignOut } from '../shell/sign-out.tsx';
import { questionsSql, wonSql } from './same-questions-sql.ts';

const AGAIN_MS = 3_000;

interface WonQuestions {
  readonly run_id: string;
  readonly questions: number;
  readonly won: number;
  readonly lost: number;
  readonly difference?: number;
}

interface WonResult {
  readonly data: readonly WonQuestions[];
}

/** The result of a statement; requested again after a failure that may pass. */
function useStatement<T>(query: string): ApiResult<T> | undefined {
  const [answer, setAnswer] = useState<ApiResult<T>>();
  useEffect(() => {
    const leave = new AbortController();
    let again: ReturnType<typeof setTimeout> | undefined;
    const load = async (): Promise<void> => {
      const result = await ask<T>('/v1/sql', { method: 'POST', body: { query, format: 'JSON' }, signal: leave.signal });
      if (leave.signal.aborted) return;
      setAnswer(result);
      if (!result.ok && isPassing(result.problem)) again = setTimeout(() => void load(), AGAIN_MS);
    };
    void load();
    return () => {
      leave.abort();
      clearTimeout(again);
    };
  }, [query]);
  return answer;
}

export function SameQuestions({ runs }: { readonly runs: readonly string[] }): JSX.Element {
  const [first = '', ...others] = runs;
  const answer = useStatement<WonResult>(wonSql(first, others));
  return (
    <section>
      <h2>Same questions</h2>
      <p class="note">
        Won: <Text>{first}</Text> got more reward for the question than the other run, on average over its attempts. Questions that only one
        of them tried are left out.
      </p>
      {answer === undefined && <Loading of="the questions" />}
      {answer?.ok === false && <NotAnswered problem={answer.problem} />}
      {answer?.ok === true && <Won first={first} others={others} found={answer.value.data} />}
    </section>
  );
}

/** For a key without the scope sql, an explanation instead of an error. */
function NotAnswered({ problem }: { readonly problem: ApiProblem }): JSX.Element {
  if (problem.status !== 403) return <Failed problem={problem} />;
  return (
    <p class="note">
      This table is made with SQL. Sign in with a key that has the scope sql to see it. <SignOut />
    </p>
  );
}

interface WonProps {
  readonly first: string;
  readonly others: readonly string[];
  readonly found: readonly WonQuestions[];
}

function Won({ first, others, found }: WonProps): JSX.Element {
  const rows = others.map(
    (other): WonQuestions => found.find(({ run_id }) => run_id === other) ?? { run_id: other, questions: 0, won: 0, lost: 0 },
  );
  const columns: readonly TableColumn<WonQuestions>[] = [
    { name: 'Other run', of: ({ run_id }) => <Text>{run_id}</Text> },
    { name: 'Questions of both', number: true, of: ({ questions }) => figure(questions) },
    { name: 'Won', number: true, of: ({ won }) => figure(won) },
    { name: 'Lost', number: true, of: ({ lost }) => figure(lost) },
    { name: 'Even', number: true, of: ({ questions, won, lost }) => figure(questions - won - lost) },
    { name: 'Difference of the reward', number: true, of: ({ difference }) => figure(difference) },
    { name: 'Which', of: ({ run_id }) => <a href={`/sql?q=${encodeURIComponent(questionsSql(first, run_id))}`}>Each question</a> },
  ];
  return <Table label="Same questions" rows={rows} columns={columns} keyOf={({ run_id }) => run_id} />;
}
