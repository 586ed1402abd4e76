// The curves of a run from the views `curves` and `step_spreads`, one point per step, and its held-out scores from the view `heldout`, one
// point per version.
import type { Store } from '../../streams/core/ports.ts';
import { PlatformError } from '../../streams/core/errors.ts';

/** The values at one step. */
export interface CurvePoint {
  readonly step: number;
  /** When the step was completed, ms since 1970. */
  readonly atMs: number;
  /** Every series of the views, without NaN and infinities. */
  readonly values: Readonly<Record<string, number>>;
}

/** Steps per query, so that a run of any length is read in ranges. */
const RANGE = 2_000;

/** In step order. Throws NOT_FOUND for a run without steps. */
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
  const range = 'where run_id = {run:String} and step >= {from:Int32} and step < {to:Int32} order by step limit 1 by step';
  const params = { run, from, to: from + RANGE };
  const at = 'toUnixTimestamp64Milli(toDateTime64(at, 3)) / 1 as at_ms';
  const [points, spreads] = await Promise.all([
    readPoints(store, `select * except (run_id, at), ${at} from curves ${range}`, params),
    readPoints(store, `select * except (run_id, at, trajectories), ${at} from step_spreads ${range}`, params),
  ]);
  const byStep = new Map(spreads.map(({ step, values }) => [step, values]));
  return points.map((point) => ({ ...point, values: { ...point.values, ...byStep.get(point.step) } }));
}

/** One point for each version that answered held-out questions; its series begin with `heldout_`. */
export async function readHeldout(store: Store, run: string): Promise<readonly CurvePoint[]> {
  const points = await readPoints(
    store,
    `select * except (run_id, version, evaluation_id, dataset, completed_at), version as step,
       toUnixTimestamp64Milli(toDateTime64(completed_at, 3)) / 1 as at_ms
     from heldout where run_id = {run:String} order by step`,
    { run },
  );
  return points.map(({ values, ...point }) => ({
    ...point,
    values: Object.fromEntries(Object.entries(values).map(([name, value]) => [`heldout_${name}`, value])),
  }));
}

/** Makes points from rows with `step` and `at_ms`; drops values that are not numbers. */
async function readPoints(store: Store, sql: string, params: Readonly<Record<string, unknown>>): Promise<readonly CurvePoint[]> {
  const settings = { output_format_json_quote_64bit_integers: 0 };
  const rows = await store.query<Readonly<Record<string, unknown>>>(sql, { params, settings });
  return rows.map(({ step, at_ms: atMs, ...values }) => ({
    step: Number(step),
    atMs: Number(atMs),
    values: Object.fromEntries(Object.entries(values).filter((entry): entry is [string, number] => Number.isFinite(entry[1]))),
  }));
}
