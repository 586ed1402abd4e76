import type { Store } from '../../../streams/core/ports.ts';
import { selectList, type RowOf } from '../columns.ts';
import { contains, equals, readPage, readRows, type ListPage, type PageRequest, type SqlCondition } from '../list.ts';
import {
  deadLetterColumns,
  evaluationColumns,
  heavyDeadLetterColumns,
  levelColumns,
  questionColumns,
  scoreColumns,
} from './questions.columns.ts';

export interface QuestionFilter {
  readonly dataset?: string | undefined;
  readonly split?: string | undefined;
  readonly kind?: string | undefined;
  readonly hops?: number | undefined;
  readonly accepted?: boolean | undefined;
  readonly question_id?: string | undefined;
  readonly question?: string | undefined;
  readonly reason?: string | undefined;
}

export async function listQuestions(store: Store, request: PageRequest & QuestionFilter): Promise<ListPage<RowOf<typeof questionColumns>>> {
  const where = [
    ...equals('dataset', 'String', request.dataset),
    ...equals('split', 'String', request.split),
    ...equals('kind', 'String', request.kind),
    ...equals('hops', 'Int32', request.hops),
    ...equals('accepted', 'Bool', request.accepted),
    ...equals('question_id', 'String', request.question_id),
    ...equals('reason', 'String', request.reason),
    ...contains('question', request.question),
  ];
  const key = { dataset: 'String', split: 'String', question_id: 'String' } as const;
  return readPage(store, { from: 'questions', columns: questionColumns, key, direction: 'asc' }, { ...request, where });
}

type EvaluationRow = RowOf<typeof evaluationColumns>;

/** An incomplete evaluation has no scores and no end time yet. */
const unfinished = ['avg_f1', 'avg_em', 'avg_cem', 'pass_f1', 'pass_em', 'reward_mean', 'turns_mean', 'tool_calls_mean', 'completed_at'];
const fromEvaluations = `(
  select * except (${unfinished.join(', ')}),
    ${unfinished.map((name) => `if(evaluations.status = 'completed', evaluations.${name}, null) as ${name}`).join(', ')}
  from evaluations
)`;

/** Newest first. */
export async function listEvaluations(
  store: Store,
  request: PageRequest & { readonly run?: string | undefined; readonly dataset?: string | undefined; readonly split?: string | undefined },
): Promise<ListPage<EvaluationRow>> {
  const where = [
    ...equals('run_id', 'String', request.run),
    ...equals('dataset', 'String', request.dataset),
    ...equals('split', 'String', request.split),
  ];
  const key = { started_at: 'time', evaluation_id: 'String', run_id: 'String' } as const;
  return readPage(store, { from: fromEvaluations, columns: evaluationColumns, key, direction: 'desc' }, { ...request, where });
}

export async function findEvaluation(store: Store, evaluation: string): Promise<EvaluationRow | undefined> {
  const rows = await readRows<EvaluationRow>(
    store,
    `select ${selectList(evaluationColumns)} from ${fromEvaluations} where evaluation_id = {evaluation:String} limit 1`,
    { evaluation },
  );
  return rows[0];
}

export async function listScores(store: Store, evaluation: string, request: PageRequest): Promise<ListPage<RowOf<typeof scoreColumns>>> {
  const key = { question_id: 'String', sample: 'Int32', attempt: 'Int32' } as const;
  return readPage(
    store,
    { from: 'evaluation_scores', columns: scoreColumns, key, direction: 'asc' },
    { ...request, where: equals('evaluation_id', 'String', evaluation) },
  );
}

type LevelRow = RowOf<typeof levelColumns>;

export interface EvaluationFigures {
  /** Over all answers so far, with the level `all`; null when there is none. */
  readonly overall: LevelRow | null;
  /** In order; empty if the benchmark has no levels. */
  readonly levels: readonly LevelRow[];
}

/** Works for incomplete evaluations too. */
export async function readFigures(store: Store, evaluation: string): Promise<EvaluationFigures> {
  const figures = Object.keys(levelColumns).filter((name) => name !== 'level');
  const where = 'where evaluation_id = {evaluation:String}';
  const rows = await readRows<LevelRow & { readonly part: number }>(
    store,
    `select part, ${selectList(levelColumns)} from (
       select 0 as part, 'all' as level, ${figures.join(', ')} from evaluation_results ${where}
       union all
       select 1 as part, level, ${figures.join(', ')} from evaluation_levels ${where}
     ) order by part, length(level), level`,
    { evaluation },
  );
  const levels = rows.map(({ part, ...level }) => ({ part, level }));
  const [overall] = levels.filter(({ part }) => part === 0);
  return { overall: overall?.level ?? null, levels: levels.flatMap(({ part, level }) => (part === 1 ? [level] : [])) };
}

/**
 * The view keeps one of several equal dead letters, and conditions on it apply only after it has read every row. Conditions on the place
 * of the original record, by which the table is sorted, apply first: the bytes of one record are found without reading those of the others.
 */
const lettersAt = (place: readonly SqlCondition[]): string =>
  place.length === 0
    ? 'dead_letters'
    : `(
  select * from dead_letter_events where ${place.map(({ sql }) => sql).join(' and ')}
  order by original_topic, original_partition, original_offset, step, _topic, _partition, _offset
  limit 1 by event_id
)`;

/** Newest dead letter first. */
export async function listDeadLetters(
  store: Store,
  request: PageRequest & {
    readonly topic?: string | undefined;
    readonly partition?: number | undefined;
    readonly offset?: number | undefined;
    readonly reason?: string | undefined;
    readonly run?: string | undefined;
  },
): Promise<ListPage<RowOf<typeof deadLetterColumns>>> {
  const place = [
    ...equals('original_topic', 'String', request.topic),
    ...equals('original_partition', 'Int32', request.partition),
    ...equals('original_offset', 'Int64', request.offset),
  ];
  const where = [...place, ...equals('reason', 'String', request.reason), ...equals('run_id', 'String', request.run)];
  const key = { occurred_at: 'time', _partition: 'Int32', _offset: 'Int64' } as const;
  return readPage(
    store,
    { from: lettersAt(place), columns: deadLetterColumns, heavy: heavyDeadLetterColumns, key, direction: 'desc' },
    { ...request, where },
  );
}
