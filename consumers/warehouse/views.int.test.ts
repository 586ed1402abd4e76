// The public tables and views: the promised columns, and views that return what their descriptions say.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { EventByType, EventType, StepCompleted, TrainedTrajectory } from '../../schemas/generated/events.ts';
import { topicOf } from '../../schemas/subjects.ts';
import type { Row } from '../../streams/core/ports.ts';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import { migratedDatabase, startMigratedStore } from '../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../infra/testing/store.ts';
import { project } from './rows/project.ts';

let server: TestStore;
let store: ClickHouseStore;
let offset = 0;
const random = seeded(1);

beforeAll(async () => {
  server = await startMigratedStore();
  store = connectStore({ url: server.url, database: migratedDatabase });
});

afterAll(async () => {
  await store.close();
  await server.stop();
});

async function put<T extends EventType>(type: T, overrides: Partial<EventByType[T]>): Promise<void> {
  offset += 1;
  const record = { topic: topicOf[type], partition: 0, offset, timestampMs: 1_767_225_600_000, key: null, value: null, headers: {} };
  const decoded = { type, event: randomEvent(type, random, overrides) } as unknown as DecodedEvent;
  const rows: { table: string; row: Row }[] = [];
  project(record, decoded, (table, row) => rows.push({ table, row }));
  for (const [index, { table, row }] of rows.entries()) await store.insert(table, [row], `${offset}-${index}`);
}

const promised: Readonly<Record<string, string>> = {
  steps:
    'run_id, step, version_before, version_after, groups, trajectories, tokens, reward_mean, f1_mean, turns_mean, loss, approx_kl, behave_kl, clip_fraction, ess, entropy, grad_norm, staleness_mean, staleness_p95, staleness_max, staleness_in_flight_mean, staleness_in_queue_mean, unknown_tokens, wait_ms, train_ms, batch_sha256, weights_sha256, previous_sha256, at',
  step_trajectories:
    'run_id, step, group_id, trajectory_id, attempt, reward, advantage, tokens, staleness_total, staleness_in_flight, staleness_in_queue, staleness_worst, staleness_token_mean, unknown_tokens, flight_ms, queue_ms',
  discarded_trajectories:
    'run_id, group_id, trajectory_id, attempt, reward, tokens, staleness_total, staleness_in_flight, staleness_in_queue, staleness_worst, staleness_token_mean, unknown_tokens, flight_ms, queue_ms, reason, version, turns',
  turns:
    'run_id, group_id, trajectory_id, attempt, turn, purpose, worker_id, policy_version_min, policy_version_max, prompt_tokens, completion_tokens, generation_ms, text, tool, tool_status, tool_error_type, tool_ms, tool_arguments, tool_result, tool_result_chars, truncated, reward, occurred_at, _topic, _partition, _offset, _timestamp',
  trajectories:
    'run_id, group_id, trajectory_id, attempt, purpose, question_id, question, answer, status, reward, f1, em, format_ok, turns, tool_calls, tool_errors, prompt_tokens, completion_tokens, version_first, version_last, worker_id, started_at, finished_at, _topic, _partition, _offset, _timestamp',
  runs: 'run_id, status, steps, version, reward_mean, started_at, finished_at',
  policies: 'run_id, version, sha256',
  questions: 'question_id, question, answers',
  evaluation_scores: 'evaluation_id, question_id, f1, em',
  evaluations: 'evaluation_id, status, avg_f1',
  evaluation_results:
    'run_id, evaluation_id, questions, answers, avg_f1, avg_em, avg_cem, avg_judge, pass_f1, judge_invalid, success_rate, long_answers, long_success_rate, turns_mean, tool_calls_mean, tokens_mean',
  curves:
    'run_id, step, at, trajectories, groups, reward_mean, reward_min, reward_max, reward_p95, f1_mean, f1_min, f1_max, f1_p95, em_mean, format_rate, turns_mean, turns_min, turns_max, turns_p95, tool_calls_mean, tool_calls_min, tool_calls_max, tool_calls_p95, searches_mean, searches_min, searches_max, searches_p95, accesses_mean, accesses_min, accesses_max, accesses_p95, tool_errors_mean, tokens_mean, tokens_min, tokens_max, tokens_p95, completion_tokens_mean, completion_tokens_min, completion_tokens_max, completion_tokens_p95, discarded, discarded_stale, discarded_uniform, staleness_mean, staleness_p95, staleness_max, staleness_in_flight_mean, staleness_in_queue_mean, unknown_tokens, loss, entropy, approx_kl, behave_kl, clip_fraction, ess, grad_norm, wait_ms, train_ms',
  dead_letters: 'original_topic, original_partition, original_offset, reason, error',
  tool_calls: 'run_id, trajectory_id, attempt, turn, tool, status, error_type, ms',
  lineage: 'run_id, step, trajectory_id, attempt, turn, tool',
  staleness_by_step: 'run_id, step, staleness_mean, staleness_in_flight_mean, staleness_in_queue_mean, staleness_worst, discarded',
  tool_health: 'run_id, tool, calls, errors, ms_p95',
  outcomes: 'run_id, step, is_kept, was_trained, reason, group_id, trajectory_id, attempt, reward, turns, tokens, staleness_total',
  selection_bias:
    'run_id, step, kept, kept_turns_mean, kept_turns_p50, kept_turns_p95, discarded, discarded_tokens_mean, discarded_reward_p95, reward_ks, turns_ks, tokens_ks',
  selection_bias_by_reason: 'run_id, reason, kept, discarded, discarded_turns_p50, reward_ks, turns_ks, tokens_ks',
};

it.each(Object.keys(promised))('%s has the promised columns', async (name) => {
  await expect(store.query(`select ${promised[name] ?? ''} from ${name} limit 0`)).resolves.toEqual([]);
});

it('every table remembers the tokens of many inserts', async () => {
  const tables = await store.query<{ name: string; text: string }>(
    `select name, create_table_query as text from system.tables where database = currentDatabase() and engine = 'MergeTree'`,
  );
  expect(tables.length).toBeGreaterThan(15);
  for (const { name, text } of tables) expect(text, name).toMatch(/non_replicated_deduplication_window = 10000/);
});

describe('a run', () => {
  const run = { run_id: 'story' };
  const trained = (id: string, over: Partial<TrainedTrajectory>): TrainedTrajectory => ({
    ...{ group_id: 'g1', trajectory_id: id, attempt: 0, question_id: 'q1', reward: 1, tokens: 100, turns: 2 },
    ...{ version_first: 0, version_last: 1, staleness_total: 2, staleness_in_flight: 1, staleness_in_queue: 1 },
    ...{
      staleness_worst: 2,
      staleness_best: 1,
      staleness_span: 2,
      staleness_token_mean: 1.5,
      staleness_token_p95: 2,
      staleness_token_max: 2,
    },
    ...{ unknown_tokens: 0, flight_ms: 10, queue_ms: 20, advantage: 0.5 },
    ...over,
  });
  const step = (number: number, reward: number, trajectories: readonly TrainedTrajectory[]): Partial<StepCompleted> => ({
    ...{ ...run, step: number, version_before: number - 1, version_after: number, trajectories },
    metrics: { ...randomEvent('StepCompleted', random).metrics, reward_mean: reward },
  });

  beforeAll(async () => {
    await put('RunStarted', { ...run, sequence: 0, dataset: 'factbook', steps: 3, algorithm: 'grpo', occurred_at: 1_000_000 });
    const second = trained('g1.1', {
      staleness_total: 4,
      staleness_in_flight: 0,
      staleness_in_queue: 4,
      staleness_worst: 5,
      tokens: 300,
      unknown_tokens: 200,
      staleness_token_mean: 3,
    });
    await put('StepCompleted', step(1, 0.25, [trained('g1.0', {}), second]));
    await put('StepCompleted', step(2, 0.75, [trained('g2.0', { attempt: 1 })]));
    await put('TrajectoryDiscarded', {
      ...run,
      ...trained('g3.0', { staleness_total: 7, staleness_in_flight: 3, staleness_in_queue: 4 }),
      reason: 'stale',
      version: 1,
    });
    for (const attempt of [0, 1]) {
      for (const turn of [0, 1]) {
        const tool = turn === 0 ? 'search' : '';
        await put('TurnRecorded', { ...run, group_id: 'g2', trajectory_id: 'g2.0', attempt, turn, tool, status: 'ok', latency_ms: 30 });
      }
    }
  });

  it('is one row with its current state', async () => {
    const shown =
      'status, dataset, planned_steps, steps, version, reward_mean, reward_mean_first_20, reward_mean_last_20, trained, discarded';
    const expected = { dataset: 'factbook', planned_steps: 3, steps: 2, version: 2, reward_mean: 0.75, trained: 3, discarded: 1 };
    const [before, ...more] = await store.query(`select ${shown} from runs where run_id = 'story'`);
    expect(before).toEqual({ ...expected, status: 'running', reward_mean_first_20: 0.5, reward_mean_last_20: 0.5 });
    expect(more).toEqual([]);
    await put('RunFinished', { ...run, sequence: 9, steps: 2, reason: 'planned steps made' });
    expect(await store.query(`select status, reason, dataset from runs where run_id = 'story'`)).toEqual([
      { status: 'finished', reason: 'planned steps made', dataset: 'factbook' },
    ]);
  });

  it('shows the staleness of trained trajectories beside that of discarded ones', async () => {
    const rows = await store.query(`select * from staleness_by_step where run_id = 'story' order by step`);
    expect(rows).toMatchObject([
      {
        ...{ step: 1, trajectories: 2, staleness_mean: 3, staleness_in_flight_mean: 0.5, staleness_in_queue_mean: 2.5, staleness_worst: 5 },
        ...{ unknown_tokens: 200, staleness_token_mean: (1.5 * 100 + 3 * 100) / 200, discarded: 0, discarded_staleness_mean: 0 },
      },
      { step: 2, trajectories: 1, staleness_mean: 2, discarded: 1, discarded_staleness_mean: 7, discarded_staleness_in_flight_mean: 3 },
    ]);
  });

  it('has curves of the trajectories that each step was trained on', async () => {
    const own = { run_id: 'curved', purpose: 'train' };
    const ended = { ...own, attempt: 0, format_ok: true, em: 0, tool_errors: 0, completion_tokens: 10 };
    await put('TrajectoryFinished', { ...ended, trajectory_id: 'c.0', f1: 1, tool_calls: 3 });
    await put('TrajectoryFinished', { ...ended, trajectory_id: 'c.1', f1: 0.5, tool_calls: 1, format_ok: false, completion_tokens: 30 });
    for (const [turn, tool] of ['search', 'search', 'access'].entries())
      await put('TurnRecorded', { ...own, trajectory_id: 'c.0', attempt: 0, turn, tool });
    const trajectories = [trained('c.0', { reward: 1, turns: 4, tokens: 100 }), trained('c.1', { reward: 0, turns: 2, tokens: 300 })];
    await put('StepCompleted', { ...step(1, 0.5, trajectories), run_id: 'curved', groups: 1 });
    await put('StepCompleted', { ...step(2, 0.5, [trained('c.1', {})]), run_id: 'curved' });
    for (const reason of ['stale', 'stale', 'uniform_group'])
      await put('TrajectoryDiscarded', { ...trained('c.9', {}), run_id: 'curved', reason, version: 1 });
    expect(await store.query(`select * from curves where run_id = 'curved' order by step`)).toMatchObject([
      {
        ...{ step: 1, trajectories: 2, groups: 1, reward_mean: 0.5, reward_min: 0, reward_max: 1, reward_p95: 1 },
        ...{ f1_mean: 0.75, f1_min: 0.5, format_rate: 0.5, turns_mean: 3, turns_max: 4, tool_calls_mean: 2, tool_calls_p95: 3 },
        ...{ searches_mean: 1, searches_max: 2, accesses_mean: 0.5, tokens_mean: 200, completion_tokens_max: 30, discarded: 0 },
      },
      { step: 2, trajectories: 1, discarded: 3, discarded_stale: 2, discarded_uniform: 1 },
    ]);
  });

  it('counts the trajectories of abandoned steps as discarded', async () => {
    const own = { run_id: 'rewound' };
    await put('RunStarted', { ...own, sequence: 0, backend: 'external' });
    await put('StepCompleted', { ...step(1, 0.5, [trained('r1.0', {})]), ...own, tokens: 10 });
    await put('StepCompleted', { ...step(2, 0.75, [trained('r2.0', {}), trained('r2.1', {})]), ...own, tokens: 50 });
    const rewind = { ...own, version: 3, to_version: 1, abandoned: [2], trajectories: 2 };
    for (const _ of [1, 2]) await put('RunRewound', rewind);
    const ask = (columns: string, view: string): Promise<readonly object[]> =>
      store.query(`select ${columns} from ${view} where run_id = 'rewound' order by ${columns}`);
    expect(await ask('trained, discarded, tokens', 'runs')).toEqual([{ trained: 1, discarded: 2, tokens: 10 }]);
    expect(await ask('version, reward_mean', 'runs')).toEqual([{ version: 3, reward_mean: 0.5 }]);
    expect(await ask('trajectory_id, step, is_kept, was_trained, reason', 'outcomes')).toEqual([
      { trajectory_id: 'r1.0', step: 1, is_kept: true, was_trained: true, reason: '' },
      { trajectory_id: 'r2.0', step: 2, is_kept: false, was_trained: true, reason: 'rewound' },
      { trajectory_id: 'r2.1', step: 2, is_kept: false, was_trained: true, reason: 'rewound' },
    ]);
    expect(await ask('step, trajectories, discarded', 'staleness_by_step')).toEqual([
      { step: 1, trajectories: 1, discarded: 0 },
      { step: 2, trajectories: 0, discarded: 2 },
    ]);
    expect(await ask('reason, kept, discarded', 'selection_bias_by_reason')).toEqual([{ reason: 'rewound', kept: 1, discarded: 2 }]);
    const steps = [
      { step: 1, trajectories: 1 },
      { step: 2, trajectories: 2 },
    ];
    for (const view of ['curves', 'step_spreads']) expect(await ask('step, trajectories', view), view).toEqual(steps);
    await put('StepCompleted', { ...step(4, 0.125, [trained('r4.0', {})]), ...own });
    expect(await ask('version, reward_mean', 'runs')).toEqual([{ version: 4, reward_mean: 0.125 }]);
  });

  it('leads from a step to its turns, those of the attempt that counted', async () => {
    const rows = await store.query(`select step, trajectory_id, attempt, turn, tool from lineage where run_id = 'story' order by turn`);
    expect(rows).toEqual([
      { step: 2, trajectory_id: 'g2.0', attempt: 1, turn: 0, tool: 'search' },
      { step: 2, trajectory_id: 'g2.0', attempt: 1, turn: 1, tool: '' },
    ]);
    expect(await store.query(`select count() as calls from tool_calls where run_id = 'story'`)).toEqual([{ calls: 2 }]);
    expect(await store.query(`select tool, calls, ok, failure_rate, ms_mean from tool_health where run_id = 'story'`)).toEqual([
      { tool: 'search', calls: 2, ok: 2, failure_rate: 0, ms_mean: 30 },
    ]);
  });
});

describe('views of things that are recorded twice', () => {
  it('show a dead letter once although it was sent twice', async () => {
    for (const attempt of [1, 2])
      await put('DeadLettered', {
        event_id: 'tasks/0/9',
        original_topic: 'tasks',
        original_partition: 0,
        original_offset: 9,
        step: 'warehouse',
        error: `try ${attempt}`,
      });
    expect(await store.query(`select event_id, error from dead_letters where event_id = 'tasks/0/9'`)).toEqual([
      { event_id: 'tasks/0/9', error: 'try 1' },
    ]);
  });

  it('show an evaluation once, before and after it is complete', async () => {
    const shown = { run_id: 'story', evaluation_id: 'before', policy_version: 0 };
    const ask = 'select status, policy_version, decoding, avg_f1 from evaluations';
    await put('EvaluationStarted', { ...shown, decoding: 'greedy' });
    expect(await store.query(ask)).toEqual([{ status: 'running', policy_version: 0, decoding: 'greedy', avg_f1: 0 }]);
    await put('EvaluationCompleted', { ...shown, avg_f1: 0.5 });
    expect(await store.query(ask)).toEqual([{ status: 'completed', policy_version: 0, decoding: 'greedy', avg_f1: 0.5 }]);
  });

  it('count each answer of an evaluation once', async () => {
    const base = { run_id: 'story', evaluation_id: 'figures', status: 'answered', tokens: 10, tool_calls: 4, verdict: '', cem: 1 };
    const score = (id: string, fields: Partial<EventByType['AnswerScored']>): Promise<void> =>
      put('AnswerScored', { ...base, question_id: id.slice(0, 2), trajectory_id: id, ...fields });
    await score('q1.0', { f1: 1, em: 1, turns: 40 });
    await score('q1.1', { f1: 0.5, em: 0, turns: 2, verdict: 'correct' });
    await score('q2.0', { f1: 0, em: 0, turns: 60, verdict: 'invalid' });
    await score('q2.1', { f1: 0.5, em: 1, turns: 2, verdict: 'incorrect', status: 'lost' });
    await score('q2.1', { f1: 1, em: 1, turns: 2, verdict: 'correct' });
    expect(await store.query(`select * from evaluation_results where evaluation_id = 'figures'`)).toMatchObject([
      {
        ...{ questions: 2, answers: 4, avg_f1: 0.5, avg_em: 0.5, avg_cem: 1, pass_f1: 0.75, pass_em: 1, pass_judge: 0.5 },
        ...{ avg_judge: 0.25, judged: 3, judge_invalid: 1, success_rate: 0.5, long_answers: 2, long_success_rate: 0.5 },
        ...{ turns_mean: 26, turns_max: 60, tool_calls_mean: 4, tokens_mean: 10, unanswered: 1 },
      },
    ]);
  });
});
