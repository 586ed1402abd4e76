// Statements that compare trained with discarded trajectories.
import { selectList } from '../columns.ts';
import { biasColumns } from './selection-bias.columns.ts';

export const metrics = ['reward', 'turns', 'tokens'] as const;

export const measured = ['reward', 'turns', 'tokens', 'staleness_total', 'flight_ms'].join(', ');

/** Figures of the rows that fulfill `condition`; null when there are none. */
function figuresIf(condition: string, name: (figure: string) => string): readonly string[] {
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
 * The largest difference between the cumulative shares. ClickHouse's own kolmogorovSmirnovTest fails when a side is empty, and every other
 * row of the result fails with it.
 */
const distances: readonly string[] = metrics.map(
  (metric) =>
    `if(kept = 0 or discarded = 0, null, arrayMax(
       (value, next, below, rank) -> if(value = next, 0., abs(below / kept - (rank - below) / discarded)),
       ${metric}_sorted.1, arrayPushBack(arrayPopFront(${metric}_sorted.1), nan), arrayCumSum(${metric}_sorted.2), arrayEnumerate(${metric}_sorted)
     )) as ${metric}_ks`,
);

/** One row per step of these outcomes, in order. */
export const bySteps = (outcomes: string): string => `
  select ${selectList(biasColumns)} from (
    select *, ${distances.join(', ')} from (
      select step, countIf(is_kept) as kept, ${figuresIf('is_kept', (figure) => `kept_${figure}`).join(', ')},
        countIf(not is_kept) as discarded, ${figuresIf('not is_kept', (figure) => `discarded_${figure}`).join(', ')},
        ${sortedMetrics.join(', ')}
      from (${outcomes}) group by step
    )
  ) order by step`;

/** Steps, and rows of the tables, before `before` and in all. A repeated row counts here, so that it shows as a change. */
export const rangeSql = (where: string): string => `
  select max(step) as newest, countIf(step < {before:Int32}) as sealed, count() as total
  from (
    select run_id, step, true as is_kept, '' as reason from step_trajectories where run_id = {run:String}
    union all
    select run_id, toInt32(version + 1) as step, false as is_kept, toString(reason) as reason from discarded_trajectories
    where run_id = {run:String}
  )
  where ${where}`;

const outcomesFrom = (where: string): string => `
  select step < {before:Int32} as is_sealed, toString(outcomes.reason) as reason, ${measured}
  from outcomes where ${where} and step >= {from:Int32}`;

/** Number of outcomes with each value. */
export const countsSql = (where: string): string => `
  select is_sealed, reason, measure.1 as metric, measure.2 as value, count() as n
  from (${outcomesFrom(where)})
  array join [${metrics.map((metric) => `('${metric}', toFloat64(${metric}))`).join(', ')}] as measure
  group by is_sealed, reason, metric, value`;

export const sumsSql = (where: string): string => `
  select is_sealed, reason, count() as n, sum(staleness_total) as staleness, sum(flight_ms) as flight_ms
  from (${outcomesFrom(where)})
  group by is_sealed, reason`;
