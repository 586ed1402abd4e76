// Evaluations and tokens for a dashboard to show, in the run `longRun`: two evaluations on the same 100 questions, one better than the
// other, and a turn with its tokens.
import type { Store } from '../../streams/core/ports.ts';
import { longRun } from './dashboard-world.ts';

export const evaluationPair = ['better', 'worse'] as const;
const AT = "toDateTime64('2026-11-21 08:00:00', 6, 'UTC')";
const place = (topic: string, partition: number): string =>
  `'turnstream.${topic}' as _topic, ${partition} as _partition, number as _offset, ${AT} as _timestamp`;
const from = (columns: string, topic: string, partition: number): string => `select ${columns}, ${place(topic, partition)}`;

/** Both answered the same questions; the first was right in 40 more of 100. */
export async function seedEvaluationPair(store: Store): Promise<void> {
  for (const [at, id] of evaluationPair.entries()) {
    const events = `'${id}' as evaluation_id, if(number = 0, 'started', 'completed') as event, '${longRun}' as run_id, 'factbook' as dataset,
      'heldout' as split, ${at} as policy_version, 100 as questions, 1 as samples, ${AT} as occurred_at`;
    const score = `toFloat64(number % 10 < ${at === 0 ? 8 : 4})`;
    const scores = `'${id}' as evaluation_id, '${longRun}' as run_id, concat('q-', toString(number)) as question_id,
      concat('content-', toString(number)) as content_id, concat('${id}-', toString(number), '.0') as trajectory_id, 0 as sample, 0 as attempt,
      'answered' as status, ${score} as f1, ${score} as em, ${score} as cem, ${score} as reward, 5 as turns, 4 as tool_calls, 900 as tokens`;
    await insert(store, 'evaluation_events', `${from(events, 'evaluations', 10 + at)} from numbers(2)`);
    await insert(store, 'evaluation_scores', `${from(scores, 'evaluations', 20 + at)} from numbers(100)`);
  }
}

export const tokenTurn = { trajectory: `${longRun}-tokens.0`, text: 'Sí, Dodoma.', tokens: ['Sí', ',', ' Dod', 'oma', '.'] } as const;

/** A finished attempt of two turns: the first has tokens of two versions with their ends and log probabilities, the second has none. */
export async function seedTokenTurn(store: Store): Promise<void> {
  const { trajectory, text } = tokenTurn;
  const attempt = `'${longRun}' as run_id, '${longRun}-tokens' as group_id, '${trajectory}' as trajectory_id, 0 as attempt, 'train' as purpose,
    'worker-0' as worker_id, 'q-0' as question_id`;
  const of = (whole: string, empty: string): string => `if(number = 0, ${whole}, ${empty})`;
  const turns = `${attempt}, toInt32(number) as turn, toInt32(number + 1) as sequence, '${text}' as text, 5 as completion_tokens,
    ${of('[3, 4]', 'emptyArrayInt32()')} as policy_span_versions, ${of('[2, 3]', 'emptyArrayInt32()')} as policy_span_tokens,
    ${of('[11, 12, 13, 14, 15]', 'emptyArrayInt32()')} as token_ids, ${of('[3, 4, 8, 11, 12]', 'emptyArrayInt32()')} as token_ends,
    ${of('[-0.1, -0.2, -4.5, -0.01, -1.2]', 'emptyArrayFloat64()')} as logprobs, ${AT} as occurred_at`;
  const result = `${attempt}, 'answered' as status, 1 as reward, 2 as turns, ${AT} as started_at, ${AT} as finished_at, ${AT} as occurred_at`;
  await insert(store, 'turns', `${from(turns, 'rollouts', 30)} from numbers(2)`);
  await insert(store, 'trajectories', `${from(result, 'rollouts', 31)} from numbers(1)`);
}

/** By name, so that the other columns have their defaults. */
async function insert(store: Store, table: string, select: string): Promise<void> {
  const names = [...select.matchAll(/ as (\w+)/g)].map(([, name]) => name ?? '');
  await store.command(`insert into ${table} (${[...new Set(names)].join(', ')}) ${select}`);
}
