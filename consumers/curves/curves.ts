// The curves of a run as the view `curves` has them: one point a step.
import type { Store } from '../../streams/core/ports.ts';
import { PlatformError } from '../../streams/core/errors.ts';

/** One step. */
export interface CurvePoint {
  readonly step: number;
  /** When the step was completed, ms since 1970. */
  readonly atMs: number;
  /** Every series of the view; NaN and the infinities are left out. */
  readonly values: Readonly<Record<string, number>>;
}

/** Steps at once: a run of any length is read in ranges. */
const RANGE = 2_000;

/** In the order of the steps. NOT_FOUND for a run without steps. */
export async function readCurves(store: Store, run: string): Promise<readonly CurvePoint[]> {
  const [span] = await store.query<{ first: number; last: number; steps: number }>(
    'select min(step) as first, max(step) as last, toInt32(count()) as steps from steps where run_id = {run:String}',
    { params: { run } },
  );
  if (span === undefined || span.steps === 0) {
    throw new PlatformError(
      'NOT_FOUND',
      `plotting run ${run}: the tables have no step of it and no finished attempt that counts; \`turnstream status\` lists the runs`,
    );
  }
  const points: CurvePoint[] = [];
  for (let from = span.first; from <= span.last; from += RANGE) points.push(...(await readRange(store, run, from)));
  return points;
}

async function readRange(store: Store, run: string, from: number): Promise<readonly CurvePoint[]> {
  const rows = await store.query<Readonly<Record<string, unknown>>>(
    `select * except (run_id, at), toUnixTimestamp64Milli(toDateTime64(at, 3)) / 1 as at_ms from curves
     where run_id = {run:String} and step >= {from:Int32} and step < {to:Int32} order by step limit 1 by step`,
    { params: { run, from, to: from + RANGE }, settings: { output_format_json_quote_64bit_integers: 0 } },
  );
  return rows.map(({ step, at_ms: atMs, ...values }) => ({
    step: Number(step),
    atMs: Number(atMs),
    values: Object.fromEntries(Object.entries(values).filter((entry): entry is [string, number] => Number.isFinite(entry[1]))),
  }));
}
