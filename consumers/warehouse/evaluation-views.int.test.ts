// For random answers, the evaluation views give the same figures as `figuresOf`.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { AnswerScored, EventByType, EventType } from '../../schemas/generated/events.ts';
import { topicOf } from '../../schemas/subjects.ts';
import type { Row } from '../../streams/core/ports.ts';
import { byLevel, figuresOf } from '../../streams/evaluation/figures.ts';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { pick, randomEvent, seeded } from '../../infra/testing/events.ts';
import { migratedDatabase, startMigratedStore } from '../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../infra/testing/store.ts';
import { project } from './rows/project.ts';

let server: TestStore;
let store: ClickHouseStore;
let offset = 0;
const random = seeded(7);
const whole = (below: number): number => Math.floor(random() * below);

beforeAll(async () => {
  server = await startMigratedStore();
  store = connectStore({ url: server.url, database: migratedDatabase });
});

afterAll(async () => {
  await store.close();
  await server.stop();
});

type SampleEvent = { readonly type: EventType; readonly event: object };

async function put(told: readonly SampleEvent[]): Promise<void> {
  const tables = new Map<string, Row[]>();
  for (const { type, event } of told) {
    offset += 1;
    const record = { topic: topicOf[type], partition: 0, offset, timestampMs: 1_767_225_600_000, key: null, value: null, headers: {} };
    project(record, { type, event } as unknown as DecodedEvent, (table, row) => {
      tables.set(table, [...(tables.get(table) ?? []), row]);
    });
  }
  for (const [table, rows] of tables) await store.insert(table, rows, `${table}-${offset}`);
}

const made = <T extends EventType>(type: T, overrides: Partial<EventByType[T]>): { type: T; event: EventByType[T] } => ({
  type,
  event: randomEvent(type, random, overrides),
});

function answer(evaluation: string, index: number, levels: readonly string[]): AnswerScored {
  const question = whole(9);
  const counted = random() < 0.8;
  const [prompt_tokens, generated_tokens] = counted ? [whole(10_000), whole(500)] : [-1, -1];
  return made('AnswerScored', {
    ...{
      run_id: 'r',
      evaluation_id: evaluation,
      question_id: `q${question}`,
      trajectory_id: `t${index}`,
      level: levels[question % levels.length]!,
    },
    ...{ f1: Math.round(4 * random()) / 4, em: whole(2), cem: whole(2), turns: whole(60), tool_calls: whole(40), tokens: whole(10_000) },
    ...{ verdict: pick(random, ['', 'correct', 'incorrect', 'invalid']), status: pick(random, ['answered', 'max_turns']) },
    ...{ prompt_tokens, generated_tokens },
  }).event;
}

const ACCOUNT = {
  ...{ group_id: 'g', question_id: 'q', advantage: 0, version_first: 0, version_last: 0, staleness_total: 0, staleness_in_flight: 0 },
  ...{ staleness_in_queue: 0, staleness_worst: 0, staleness_best: 0, staleness_span: 1, staleness_token_mean: 0, staleness_token_p95: 0 },
  ...{ staleness_token_max: 0, unknown_tokens: 0, flight_ms: 0, queue_ms: 0 },
};

const near = (value: number): number => expect.closeTo(value, 6) as number;

describe('views of evaluations', () => {
  it('give the same figures as figuresOf', async () => {
    for (const levels of [['1', '2', '10'], ['']]) {
      for (const count of [1, 2, 40, 200]) {
        const evaluation = `e${levels.length}-${count}`;
        const answers = Array.from({ length: count }, (_, index) => answer(evaluation, index, levels));
        await put([...answers, ...answers.slice(0, 3)].map((event) => ({ type: 'AnswerScored', event })));
        const figures = figuresOf(answers);
        const ask = (view: string): Promise<readonly Row[]> =>
          store.query(
            `select * from ${view} where evaluation_id = {evaluation:String} order by 1${view === 'evaluation_levels' ? ', length(level), level' : ''}`,
            { params: { evaluation }, settings: { output_format_json_quote_64bit_integers: 0 } },
          );
        expect(await ask('evaluation_results')).toEqual([
          expect.objectContaining({
            ...{ questions: figures.questions, answers: count, judged: figures.judged, judge_invalid: figures.judgeInvalid },
            ...{ avg_f1: near(figures.avg.f1), avg_em: near(figures.avg.em), avg_judge: near(figures.avg.judge) },
            ...{ avg_f1_low: near(figures.avgInterval.f1.low), avg_f1_high: near(figures.avgInterval.f1.high) },
            ...{ avg_em_low: near(figures.avgInterval.em.low), avg_judge_high: near(figures.avgInterval.judge.high) },
            ...{
              pass_f1: near(figures.pass.f1),
              pass_f1_low: near(figures.passInterval.f1.low),
              pass_f1_high: near(figures.passInterval.f1.high),
            },
            ...{
              success_rate: near(figures.successRate),
              long_answers: figures.longAnswers,
              long_success_rate: near(figures.longSuccessRate),
            },
            ...{ turns_mean: near(figures.turns.mean), turns_max: figures.turns.max, unanswered: figures.unanswered },
            ...{ prompt_tokens_mean: near(figures.promptTokens.mean), generated_tokens_mean: near(figures.generatedTokens.mean) },
            ...{ prompt_tokens_max: figures.promptTokens.max, generated_tokens_max: figures.generatedTokens.max },
          }),
        ]);
        const told = (await ask('evaluation_levels')).map(({ level, questions, avg_f1, avg_f1_low }) => ({
          level,
          questions,
          avg_f1,
          avg_f1_low,
        }));
        expect(told).toEqual(
          [...byLevel(answers)].map(([level, own]) => {
            const { questions, avg, avgInterval } = figuresOf(own);
            return { level, questions, avg_f1: near(avg.f1), avg_f1_low: near(avgInterval.f1.low) };
          }),
        );
      }
    }
  });

  interface SampleEvaluation {
    readonly run: string;
    readonly version: number;
    readonly samples?: number;
    readonly split?: string;
    readonly dataset?: string;
    readonly answers?: number;
    readonly done?: boolean;
    readonly maxTurns?: number;
  }
  const evaluation = (id: string, given: SampleEvaluation): readonly SampleEvent[] => {
    const { run, version, samples = 4, split = 'heldout', dataset = 'd', answers = 8, done = true, maxTurns } = given;
    const head = { run_id: run, evaluation_id: id, policy_version: version, samples, split, dataset, questions: answers };
    const subject = maxTurns === undefined ? '{}' : JSON.stringify({ protocol: { max_turns: maxTurns, questions: answers } });
    return [
      made('EvaluationStarted', { ...head, subject, decoding: samples > 1 ? 'sample' : 'greedy' }),
      ...Array.from({ length: answers }, (_, at) =>
        made('AnswerScored', { run_id: run, evaluation_id: id, trajectory_id: `${id}-${at}`, question_id: `q${at % 2}`, f1: 0.5 }),
      ),
      ...(done ? [made('EvaluationCompleted', { ...head, reward_mean: 0.25 })] : []),
    ];
  };

  it('have one held-out score per version: of the complete sampled evaluation with the most questions', async () => {
    const run = 'curve';
    await put([
      ...evaluation('greedy-0', { run, version: 0, samples: 1 }),
      ...evaluation('few-0', { run, version: 0, answers: 4 }),
      ...evaluation('many-0', { run, version: 0 }),
      ...evaluation('sampled-50', { run, version: 50 }),
      ...evaluation('running-100', { run, version: 100, done: false }),
      ...evaluation('train-100', { run, version: 100, split: 'train' }),
      ...evaluation('newest', { run, version: -1 }),
    ]);
    expect(
      await store.query(`select version, evaluation_id, samples, avg_f1, avg_f1_low, reward_mean from heldout where run_id = 'curve'`),
    ).toEqual([
      { version: 0, evaluation_id: 'many-0', samples: 4, avg_f1: 0.5, avg_f1_low: 0.5, reward_mean: 0.25 },
      { version: 50, evaluation_id: 'sampled-50', samples: 4, avg_f1: 0.5, avg_f1_low: 0.5, reward_mean: 0.25 },
    ]);
  });

  it('make one series of evaluations of one kind: the dataset of the run, as many questions, the same limits', async () => {
    const run = 'mixed';
    const usual = { run, dataset: 'own', maxTurns: 150 };
    await put([
      made('RunStarted', { run_id: run, dataset: 'own' }),
      ...evaluation('own-0', { ...usual, version: 0 }),
      ...evaluation('own-50', { ...usual, version: 50 }),
      ...evaluation('short-50', { ...usual, version: 50, maxTurns: 12 }),
      ...evaluation('large-100', { ...usual, version: 100, answers: 20 }),
      ...evaluation('own-100', { ...usual, version: 100 }),
      ...[0, 50, 100, 150].flatMap((version) => evaluation(`other-${version}`, { ...usual, version, dataset: 'other', answers: 40 })),
      ...evaluation('large-150', { ...usual, version: 150, answers: 20 }),
    ]);
    const series = await store.query<{ evaluation_id: string }>(
      `select evaluation_id from heldout where run_id = 'mixed' order by version`,
    );
    expect(series.map(({ evaluation_id: id }) => id)).toEqual(['own-0', 'own-50', 'own-100']);
  });

  it('have greedy answers in the series of a run that has no others', async () => {
    await put([
      ...evaluation('g-0', { run: 'greedy', version: 0, samples: 1 }),
      ...evaluation('g-9', { run: 'greedy', version: 9, samples: 1 }),
    ]);
    const ask = (view: string): Promise<readonly Row[]> => store.query(`select evaluation_id from ${view} where run_id = 'greedy'`);
    expect(await ask('heldout_evaluations')).toEqual([{ evaluation_id: 'g-0' }, { evaluation_id: 'g-9' }]);
    expect(await ask('heldout')).toEqual([]);
  });

  it('show the reward of all finished trajectories beside that of the trained ones', async () => {
    const run_id = 'spread';
    const trajectories = [1, 0, 1, 0.5].map((reward, at) => ({
      ...ACCOUNT,
      trajectory_id: `t${at}`,
      attempt: 0,
      reward,
      turns: at + 1,
      tokens: 10 * (at + 1),
    }));
    const discarded = [
      ...[0, 0, 0, 0].map(() => ({ reason: 'uniform_group', reward: 0 })),
      ...['lost', 'expired', 'invalid', 'superseded'].map((reason) => ({ reason, reward: 0.75 })),
    ];
    await put([
      ...trajectories.map(({ trajectory_id }, at) =>
        made('TrajectoryFinished', {
          run_id,
          trajectory_id,
          attempt: 0,
          purpose: 'train',
          prompt_tokens: 1_000 * (at + 1),
          f1: 1,
          tool_calls: at,
        }),
      ),
      made('StepCompleted', { run_id, step: 1, version_before: 0, version_after: 1, trajectories }),
      ...discarded.map((one, at) =>
        made('TrajectoryDiscarded', { run_id, version: 0, trajectory_id: `d${at}`, attempt: 0, sequence: at, ...one }),
      ),
    ]);
    const ask = (what: string): Promise<readonly Row[]> =>
      store.query(`select ${what} where run_id = 'spread'`, { settings: { output_format_json_quote_64bit_integers: 0 } });
    expect(await ask('* from step_spreads')).toMatchObject([
      {
        ...{ step: 1, trajectories: 4, finished: 8, reward_all_mean: 2.5 / 8, reward_p25: 0.5, reward_p50: 1, reward_p75: 1 },
        ...{ turns_p25: 2, turns_p75: 4, tool_calls_p50: 2, prompt_tokens_mean: 2_500, prompt_tokens_p95: 4_000 },
        ...{ generated_tokens_mean: 25, generated_tokens_p50: 30, f1_p50: 1 },
      },
    ]);
    expect(await ask('sum(generated_tokens) as sum from step_trajectories')).toEqual([{ sum: 100 }]);
    expect(await ask('min(generated_tokens = completion_tokens) as same from trajectories')).toEqual([{ same: 1 }]);
  });
});
