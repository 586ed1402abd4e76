// Histograms of a run as statements over all of its outcomes: the definition of what `outcomes.fold.ts` keeps up to date.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { binsFor, type FateCounts, type FigureRange, type HistogramRange, type OutcomeHistogram } from './histogram.reader.ts';

const unlessRepeated = (table: string): string =>
  `(run_id, _partition, _offset) not in (select run_id, _partition, _offset from ${table} where run_id = {run:String})`;

const isAbandoned = 'step in (select arrayJoin(abandoned) from rewinds where run_id = {run:String})';

/** A trajectory discarded at version v competed for step v + 1. Only trained ones have an advantage. */
const outcomesSql = `
  select if(${isAbandoned}, 'rewound', '') as reason, reward,
    if(${isAbandoned}, nan, step_trajectories.advantage) as advantage, toFloat64(turns) as turns, toFloat64(tokens) as tokens,
    toFloat64(staleness_total) as staleness
  from step_trajectories where run_id = {run:String} and step between {from:Int32} and {to:Int32} and ${unlessRepeated('repeated_steps')}
  union all
  select toString(reason) as reason, reward, nan as advantage, toFloat64(turns), toFloat64(tokens), toFloat64(staleness_total)
  from discarded_trajectories
  where run_id = {run:String} and version + 1 between {from:Int64} and {to:Int64} and ${unlessRepeated('repeated_discards')}`;

interface FilledBin {
  readonly figure: FigureRange['figure'];
  readonly reason: string;
  readonly bin: number;
  readonly number: number;
}

/** Reads the histograms from all outcomes. */
export async function histogramsOf(
  store: Store,
  run: string,
  { of, bins, from_step, to_step }: HistogramRange,
): Promise<readonly OutcomeHistogram[]> {
  const params = { run, from: from_step, to: to_step };
  const pairs = of.map((figure) => `('${figure}', ${figure})`).join(', ');
  const ranges = await readRows<FigureRange>(
    store,
    `select pair.1 as figure, min(pair.2) as low, max(pair.2) as high from (${outcomesSql}) array join [${pairs}] as pair
     where isFinite(pair.2) group by figure`,
    params,
  );
  const wanted = of.flatMap((figure) => ranges.filter((range) => range.figure === figure));
  if (wanted.length === 0) return [];
  const shapes = wanted.map((range) => ({ ...range, ...binsFor(range.figure, range, bins) }));
  const places = shapes.map(({ figure }, at) => `('${figure}', ${figure}, {low_${at}:Float64}, {width_${at}:Float64}, {last_${at}:Int32})`);
  const filled = await readRows<FilledBin>(
    store,
    `select place.1 as figure, reason, least(place.5, toInt32(floor((place.2 - place.3) / place.4))) as bin, toUInt32(count()) as number
     from (${outcomesSql}) array join [${places.join(', ')}] as place
     where isFinite(place.2) group by figure, reason, bin`,
    Object.assign(
      { ...params },
      ...shapes.map(({ low, width, count }, at) => ({ [`low_${at}`]: low, [`width_${at}`]: width, [`last_${at}`]: count - 1 })),
    ) as Record<string, unknown>,
  );
  return shapes.map(({ figure, low, width, count }) => ({
    ...{ figure, low, width },
    fates: countsOf(
      filled.filter((row) => row.figure === figure),
      count,
    ),
  }));
}

/** Trained ones first, then the discard reasons in order. */
function countsOf(filled: readonly FilledBin[], count: number): readonly FateCounts[] {
  const reasons = [...new Set(filled.map(({ reason }) => reason))].sort();
  return reasons.map((reason) => {
    const counts = new Array<number>(count).fill(0);
    for (const row of filled) if (row.reason === reason) counts[Math.max(0, row.bin)] = row.number;
    return { reason, counts };
  });
}
