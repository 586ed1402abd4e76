// Who was trained on and who was not: a filter by staleness, by rewards or by a deadline also chooses by length and by
// reward. The figures are those of the view selection_bias, made of the outcomes that a request asks for.
import type { Store } from '../../../streams/core/ports.ts';
import { selectList, type RowOf } from '../columns.ts';
import type { DiscardReason } from '../../../streams/batch/batch.ts';
import { compare, equals, readPage, readRows, type Clause, type Page, type PageRequest } from '../list.ts';
import { biasColumns, biasFigureColumns, biasReasonColumns } from './selection-bias.columns.ts';

interface BiasRequest extends PageRequest {
  readonly from_step?: number | undefined;
  readonly to_step?: number | undefined;
  /** Only discards for this reason stand beside what was kept. */
  readonly reason?: DiscardReason | undefined;
}

interface SelectionBias extends Page<RowOf<typeof biasColumns>> {
  /** Over all steps of the range, whatever the page; null when there is nothing in it. */
  readonly overall: RowOf<typeof biasFigureColumns> | null;
  /** The same by reason; the empty reason is what was kept. */
  readonly by_reason: readonly RowOf<typeof biasReasonColumns>[];
}

const metrics = ['reward', 'turns', 'tokens'] as const;

/** Figures of the rows that fulfil `condition`, null where there is none. */
function figuresOf(condition: string, name: (figure: string) => string): readonly string[] {
  const some = (figure: string): string => `if(countIf(${condition}) = 0, null, ${figure})`;
  return [
    ...metrics.flatMap((metric) => [
      `avgOrNullIf(${metric}, ${condition}) as ${name(`${metric}_mean`)}`,
      `${some(`quantileExactInclusiveIf(0.5)(${metric}, ${condition})`)} as ${name(`${metric}_p50`)}`,
      `${some(`quantileExactInclusiveIf(0.95)(${metric}, ${condition})`)} as ${name(`${metric}_p95`)}`,
    ]),
    `avgOrNullIf(staleness_total, ${condition}) as ${name('staleness_mean')}`,
    `avgOrNullIf(flight_ms, ${condition}) as ${name('flight_ms_mean')}`,
  ];
}

const sortedMetrics: readonly string[] = metrics.map(
  (metric) => `arraySort(groupArray((toFloat64(${metric}), toUInt8(is_kept)))) as ${metric}_sorted`,
);

/**
 * The largest difference of the shares at or below a value. The engine's own kolmogorovSmirnovTest fails when a side is
 * empty, and with it every other row of the answer.
 */
const distances: readonly string[] = metrics.map(
  (metric) =>
    `if(kept = 0 or discarded = 0, null, arrayMax(
       (value, next, below, rank) -> if(value = next, 0., abs(below / kept - (rank - below) / discarded)),
       ${metric}_sorted.1, arrayPushBack(arrayPopFront(${metric}_sorted.1), nan), arrayCumSum(${metric}_sorted.2), arrayEnumerate(${metric}_sorted)
     )) as ${metric}_ks`,
);

const bothSides: readonly string[] = [
  'countIf(is_kept) as kept',
  ...figuresOf('is_kept', (figure) => `kept_${figure}`),
  'countIf(not is_kept) as discarded',
  ...figuresOf('not is_kept', (figure) => `discarded_${figure}`),
  ...sortedMetrics,
];

const measured = ['reward', 'turns', 'tokens', 'staleness_total', 'flight_ms'].join(', ');

const textOf = (clauses: readonly Clause[]): string => clauses.map(({ sql }) => sql).join(' and ');

export async function readSelectionBias(store: Store, run: string, request: BiasRequest): Promise<SelectionBias> {
  const range = [
    ...equals('run_id', 'String', run),
    ...compare('step', { sign: '>=', type: 'Int32' }, request.from_step),
    ...compare('step', { sign: '<=', type: 'Int32' }, request.to_step),
  ];
  const reason = equals('reason', 'String', request.reason);
  const asked = [...range, ...reason.map(({ sql, params }) => ({ sql: `(is_kept or ${sql})`, params }))];
  const params = Object.assign({}, ...asked.map((clause) => clause.params)) as Record<string, unknown>;
  const outcomes = `select step, is_kept, ${measured} from outcomes where ${textOf(asked)}`;
  const bySteps = `(
    select *, ${distances.join(', ')} from (select step, ${bothSides.join(', ')} from (${outcomes}) group by step)
  )`;
  const [page, overall, byReason] = await Promise.all([
    readPage(
      store,
      { from: bySteps, columns: biasColumns, key: { step: 'Int32' }, direction: 'asc' },
      { ...request, where: [{ sql: '1', params }] },
    ),
    readRows<RowOf<typeof biasFigureColumns>>(
      store,
      `select ${selectList(biasFigureColumns)} from (
         select *, ${distances.join(', ')} from (select ${bothSides.join(', ')} from (${outcomes}))
       )`,
      params,
    ),
    readByReason(store, { clauses: asked, params }),
  ]);
  const [figures] = overall;
  const anything = figures !== undefined && figures.kept + figures.discarded > 0;
  return { ...page, overall: anything ? figures : null, by_reason: byReason };
}

async function readByReason(
  store: Store,
  asked: { readonly clauses: readonly Clause[]; readonly params: Readonly<Record<string, unknown>> },
): Promise<SelectionBias['by_reason']> {
  const where = textOf(asked.clauses);
  const outcomes = `
    select reason as told, is_kept, ${measured} from outcomes where ${where}
    union all
    select reasons.told as told, is_kept, ${measured} from (select *, 1 as every from outcomes where is_kept and ${where}) as them
    inner join (select distinct reason as told, 1 as every from outcomes where not is_kept and ${where}) as reasons using (every)`;
  const own = "is_kept = (told = '')";
  return readRows<RowOf<typeof biasReasonColumns>>(
    store,
    `select ${selectList(biasReasonColumns)} from (
       select *, told as reason, ${distances.join(', ')} from (
         select told, countIf(is_kept) as kept, countIf(not is_kept) as discarded, countIf(${own}) as trajectories,
           ${[...figuresOf(own, (figure) => figure), ...sortedMetrics].join(', ')}
         from (${outcomes}) group by told
       )
     ) order by reason`,
    asked.params,
  );
}
