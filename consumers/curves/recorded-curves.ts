// The curves of a run that was not trained here: it has no steps, so a point is a policy version or, if versions are unknown, a portion of
// the attempts in the order in which they finished.
import type { Store } from '../../streams/core/ports.ts';
import type { CurvePoint } from './curves.ts';

/** Curves with the unit of their points. */
export interface RecordedCurves {
  /** The axis label. */
  readonly unit: string;
  readonly points: readonly CurvePoint[];
}

const PARTS = 100;

const ATTEMPTS = `(
    select * from trajectories
    where run_id = {run:String} and purpose != 'eval' and status in ('answered', 'max_turns', 'max_tokens', 'timeout')
    order by trajectory_id, attempt limit 1 by trajectory_id, attempt
  )`;

/** Mean, extremes and quantiles, named as in the views `curves` and `step_spreads`. */
const spread = (name: string, column: string): string =>
  [
    ...[`avg(${column}) as ${name}_mean`, `min(${column}) as ${name}_min`, `max(${column}) as ${name}_max`],
    ...[25, 50, 75, 95].map((part) => `quantileExact(${part / 100})(${column}) as ${name}_p${part}`),
  ].join(', ');

const FIGURES = [
  'count() as trajectories',
  ...[spread('reward', 'one_reward'), spread('f1', 'one_f1'), 'avg(one_em) as em_mean', 'countIf(one_format) / count() as format_rate'],
  ...[spread('turns', 'one_turns'), spread('tool_calls', 'one_calls'), spread('searches', 'one_searches')],
  ...[spread('accesses', 'one_accesses'), 'avg(one_errors) as tool_errors_mean'],
  ...[spread('prompt_tokens', 'one_prompt'), spread('generated_tokens', 'one_tokens')],
].join(', ');

const BY_VERSION = 'toInt64(version_first)';
const BY_PART = `toInt64(intDiv((row_number() over (order by finished_at, trajectory_id, attempt) - 1) * {parts:UInt32}, count() over ()) + 1)`;

const pointsSql = (place: string, condition: string): string => `
  select place as step, max(toUnixTimestamp64Milli(toDateTime64(ended_at, 3))) / 1 as at_ms, ${FIGURES}
  from (
    select ${place} as place, trajectory_id, attempt, finished_at as ended_at, reward as one_reward, f1 as one_f1, em as one_em,
      format_ok as one_format, turns as one_turns, tool_calls as one_calls, tool_errors as one_errors, completion_tokens as one_tokens, prompt_tokens as one_prompt
    from ${ATTEMPTS}${condition}
  ) as ended
  left join (
    select trajectory_id, attempt, uniqExactIf(turn, tool = 'search') as one_searches, uniqExactIf(turn, tool = 'access') as one_accesses
    from turns where run_id = {run:String} group by trajectory_id, attempt
  ) as called using (trajectory_id, attempt)
  group by place order by place`;

/** No points for a run without attempts that count. */
export async function readRecordedCurves(store: Store, run: string): Promise<RecordedCurves> {
  const settings = { output_format_json_quote_64bit_integers: 0 };
  const [span] = await store.query<{ attempts: number; versions: number }>(
    `select count() as attempts, uniqExactIf(version_first, version_first >= 0) as versions from ${ATTEMPTS}`,
    { params: { run }, settings },
  );
  const { attempts = 0, versions = 0 } = span ?? {};
  if (attempts === 0) return { unit: 'policy version', points: [] };
  const byVersion = versions > 1;
  const rows = await store.query<Readonly<Record<string, unknown>>>(
    byVersion ? pointsSql(BY_VERSION, ' where version_first >= 0') : pointsSql(BY_PART, ''),
    { params: { run, parts: Math.min(PARTS, attempts) }, settings },
  );
  const points = rows.map(({ step, at_ms: atMs, ...values }) => ({
    step: Number(step),
    atMs: Number(atMs),
    values: Object.fromEntries(Object.entries(values).filter((entry): entry is [string, number] => Number.isFinite(entry[1]))),
  }));
  return { unit: byVersion ? 'policy version' : 'part of the attempts', points };
}
