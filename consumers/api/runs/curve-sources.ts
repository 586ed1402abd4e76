// Where the series of a run come from: each source has one row per step, and is read step by step or in buckets of steps.
import { figureColumns, STEPS_OF_RANGE } from '../../common/step-figures.ts';
import { extraColumns } from './curves.columns.ts';

export interface CurveSource {
  readonly alias: string;
  /** A table with its condition, or a subquery; has the column `step`. */
  readonly from: string;
  readonly names: readonly string[];
}

/** What was discarded at version v belongs to step v + 1. */
export const lossesSql = `
  select toInt32(version + 1) as step, sum(discards_by_version.discarded) as discarded,
    sumIf(discards_by_version.discarded, reason = 'stale') as discarded_stale,
    sumIf(discards_by_version.discarded, reason = 'uniform_group') as discarded_uniform
  from discards_by_version
  where run_id = {run:String} and version >= {from_step:Int32} - 1 and version < {to_step:Int32}
  group by step`;

/** Attempts without an outcome that counts; as in the view `step_spreads`. */
const NO_OUTCOME = "('lost', 'expired', 'invalid', 'superseded')";

const finishedSql = `(
  select step, avg(reward) as reward_all_mean from outcomes where ${STEPS_OF_RANGE} and reason not in ${NO_OUTCOME} group by step
)`;

const heldoutSql = `(
  select version as step, avg_f1 as heldout_f1, avg_em as heldout_em from heldout
  where run_id = {run:String} and version >= {from_step:Int32} and version <= {to_step:Int32}
)`;

const losses: readonly string[] = ['discarded', 'discarded_stale', 'discarded_uniform'];
const figures: readonly string[] = figureColumns;
export const isFigure = (name: string): boolean => figures.includes(name);
export const isLoss = (name: string): boolean => losses.includes(name);
export const isExtra = (name: string): boolean => Object.hasOwn(extraColumns, name);

/** The sources of some series besides the steps themselves. */
export function sourcesOf(names: readonly string[]): readonly CurveSource[] {
  const sources = [
    { alias: 'kept', from: `step_figures where ${STEPS_OF_RANGE}`, names: names.filter(isFigure) },
    { alias: 'lost', from: `(${lossesSql})`, names: names.filter(isLoss) },
    ...extraSources(names),
  ];
  return sources.filter((source) => source.names.length > 0);
}

/** Sources of the series that are returned only when a request names them. */
export function extraSources(names: readonly string[]): readonly CurveSource[] {
  const sources = [
    { alias: 'versions', from: `steps where ${STEPS_OF_RANGE}`, names: ['version_after'] },
    { alias: 'finished', from: finishedSql, names: ['reward_all_mean'] },
    { alias: 'scored', from: heldoutSql, names: ['heldout_f1', 'heldout_em'] },
  ];
  return sources
    .map((source) => ({ ...source, names: source.names.filter((name) => names.includes(name)) }))
    .filter((source) => source.names.length > 0);
}
