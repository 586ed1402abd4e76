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

/** Both sides in total, and each by reason. */
export const sidesSql = (where: string): string => `
  select
    grouping(reason) = 0 as of_reason,
    is_kept,
    toString(reason) as reason,
    count() as trajectories,
    ${metrics
      .flatMap((metric) => [
        `avg(${metric}) as ${metric}_mean`,
        `quantilesExactInclusive(0.5, 0.95)(${metric}) as ${metric}_quantiles`,
        `${metric}_quantiles[1] as ${metric}_p50`,
        `${metric}_quantiles[2] as ${metric}_p95`,
      ])
      .join(', ')},
    avg(staleness_total) as staleness_mean,
    avg(flight_ms) as flight_ms_mean
  from (select is_kept, toString(outcomes.reason) as reason, ${measured} from outcomes where ${where})
  group by grouping sets ((is_kept, reason), (is_kept))
  order by reason`;

/** Name of the distance column of a reason, by index; the last one covers all reasons. */
export const distanceColumn = (at: number): string => `distance_${at}`;

/**
 * For each metric, the distance between kept and discarded trajectories, for each of the reasons (bound as `told_0`, …) and for all of
 * them: counts of each value, and running sums over the sorted values.
 */
export function distancesSql(where: string, reasons: number): string {
  const sides = [
    ...Array.from({ length: reasons }, (_, at) => `sumIf(n, not is_kept and reason = {told_${at}:String})`),
    'sumIf(n, not is_kept)',
  ];
  const below = sides.map((_, at) => `sum(lost_${at}) over upto / sum(lost_${at}) over whole as below_${at}`);
  const largest = sides.map((_, at) => `max(abs(kept_below - below_${at})) as ${distanceColumn(at)}`);
  return metrics
    .map(
      (metric) => `
      select '${metric}' as metric, ${largest.join(', ')}
      from (
        select sum(kept) over upto / sum(kept) over whole as kept_below, ${below.join(', ')}
        from (
          select value, sumIf(n, is_kept) as kept, ${sides.map((side, at) => `${side} as lost_${at}`).join(', ')}
          from (
            select ${metric} as value, is_kept, reason, count() as n from outcomes where ${where} group by value, is_kept, reason
          )
          group by value
        )
        window upto as (order by value rows between unbounded preceding and current row), whole as ()
      )`,
    )
    .join(' union all ');
}
