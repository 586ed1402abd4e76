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
