// Reads the outages of the tools of a run, with the steps made during each.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { MOST_INT32 } from '../values.ts';
import { outagesIn, type FoundOutage, type OutageRow } from './outages.ts';
import { ofMostUsed } from './most-used.ts';
import { readRunCounts } from './weather.fold.ts';

interface ReadOutages {
  readonly outages: readonly OutageRow[];
  /** Tools that have not worked since their newest outage. */
  readonly still_out: readonly string[];
  /** End of the newest span with a call of a tool, ms since 1970; -Infinity if there is none. */
  readonly called_until_ms: number;
}

export async function readOutages(store: Store, run: string): Promise<ReadOutages> {
  const counted = await readRunCounts(store, run);
  if (counted === undefined) return { outages: [], still_out: [], called_until_ms: -Infinity };
  const { spans, every } = counted;
  const found = outagesIn(ofMostUsed(spans), every);
  const called_until_ms = spans.reduce((most, { span }) => Math.max(most, (span + 1) * every * 1_000), -Infinity);
  const still_out = found.filter(({ isOpen }) => isOpen === true).map(({ tool }) => tool);
  return { outages: await withSteps(store, run, found), still_out, called_until_ms };
}

/** Greater than every step. */
const NO_STEP = MOST_INT32;

/** The steps made during each outage, or the next step if there were none, so that the outage can be drawn in the curves. */
async function withSteps(store: Store, run: string, outages: readonly FoundOutage[]): Promise<readonly OutageRow[]> {
  if (outages.length === 0) return [];
  const [made] = await readRows<{ readonly firsts: readonly number[]; readonly lasts: readonly number[] }>(
    store,
    `select minForEach(arrayMap(since -> if(at_ms >= since, step, ${NO_STEP}), {from:Array(Int64)})) as firsts,
       maxForEach(arrayMap(until -> if(at_ms <= until, step, toInt32(-1)), {to:Array(Int64)})) as lasts
     from (select step, toUnixTimestamp64Milli(min(at)) as at_ms from steps where run_id = {run:String} group by step)`,
    { run, from: outages.map(({ from }) => Date.parse(from ?? '')), to: outages.map(({ to }) => Date.parse(to ?? '')) },
  );
  return outages.map(({ isOpen: _isOpen, ...outage }, index) => {
    const [first = NO_STEP, last = -1] = [made?.firsts[index], made?.lasts[index]];
    const from_step = first === NO_STEP ? -1 : first;
    return { ...outage, from_step, to_step: from_step < 0 ? from_step : Math.max(from_step, last) };
  });
}
