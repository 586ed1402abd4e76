// One question of a run over the versions that answered it: each answer of each version, how often it was given, and its reward.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';

export const answerColumns = {
  version: 'whole',
  answer: 'text',
  tries: 'whole',
  right_answers: 'whole',
  reward_mean: 'number',
  turns_mean: 'number',
  trajectory_id: 'text',
  attempt: 'whole',
  finished_at: 'time',
} as const;

type AnswerOfVersion = RowOf<typeof answerColumns>;

interface QuestionHistory {
  readonly run_id: string;
  readonly question_id: string;
  readonly question: string;
  readonly items: readonly AnswerOfVersion[];
  readonly is_whole: boolean;
}

const MOST = 5_000;

/** Undefined when the run never answered the question. `trajectory_id` is the first that gave the answer at that version. */
export async function readHistory(store: Store, run: string, question: string): Promise<QuestionHistory | undefined> {
  const rows = await readRows<AnswerOfVersion & { question: string }>(
    store,
    `select at_version as version, answer, count() as tries, countIf(is_right) as right_answers, avg(one_reward) as reward_mean,
       avg(one_turns) as turns_mean, argMin(id, (ended_at, id)) as trajectory_id, argMin(try, (ended_at, id)) as attempt,
       min(ended_at) as finished_at, any(text) as question
     from (
       select version_last as at_version, answer, em = 1 as is_right, reward as one_reward, turns as one_turns, trajectory_id as id,
         attempt as try, finished_at as ended_at, question as text
       from trajectories where run_id = {run:String} and question_id = {question:String} and purpose != 'eval'
       limit 1 by id, try
     )
     group by version, answer order by version, tries desc, answer limit {most:UInt32}`,
    { run, question, most: MOST + 1 },
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  const items = rows.slice(0, MOST).map(({ question: _text, ...row }) => row);
  return { run_id: run, question_id: question, question: first.question, items, is_whole: rows.length <= MOST };
}
