// What the trainer of a run does, according to its newest ledger entries: it trains, waits for rollouts, or is silent.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { RECENT } from './advisories.ts';
import type { trainerColumns } from './watch.columns.ts';

export type TrainerRow = RowOf<typeof trainerColumns>;

/** The newest entry of a type. */
export interface NewestEntry {
  readonly entry: string;
  readonly sequence: number;
  /** Number of the step that was made, leased, or released; 0 for other entries. */
  readonly step: number;
  readonly at: string;
  /** By the clock of the store. */
  readonly age_ms: number;
  /** How long each of the newest steps waited and trained, on average; null without steps. */
  readonly wait_ms: number | null;
  readonly train_ms: number | null;
}

const runEntry = "transform(toString(event), ['started', 'continued', 'finished'], ['RunStarted', 'RunContinued', 'RunFinished'], '')";

/** An entry, its table, and the column that the rows of a run are sorted by. */
const places: readonly (readonly [entry: string, table: string, key: string])[] = [
  [runEntry, 'run_events', 'sequence'],
  ["'StepCompleted'", 'steps', 'step'],
  ["'GroupsAdmitted'", 'admissions', 'sequence'],
  ["'TrajectoryDiscarded'", 'discarded_trajectories', 'version'],
  ["'TrajectoryExpired'", 'expired_attempts', 'sequence'],
  ["'BatchCollected'", 'batches', 'batch'],
  ["'BatchLeased'", 'leases', 'step'],
  ["'BatchReleased'", 'lease_releases', 'step'],
  ["'TrainerClaimed'", 'trainer_claims', 'epoch'],
  ["'RunRewound'", 'rewinds', 'version'],
  ["'WeightsNamed'", 'named_weights', 'version'],
  ["'RewardsCounted'", 'counted_rewards', 'sequence'],
];

const newestSql = places
  .map(([entry, table, key]) => {
    const order = [...new Set([key, 'sequence'])].map((column) => `${column} desc`).join(', ');
    return `select * from (
      select ${entry} as entry, sequence, ${key === 'step' ? 'step' : 'toInt32(0) as step'}, at
      from ${table} where run_id = {run:String} order by ${order} limit 1
    )`;
  })
  .join(' union all ');

const entriesSql = `
  with (
    select (avgIf(wait_ms, isFinite(wait_ms)), avgIf(train_ms, isFinite(train_ms)))
    from (select wait_ms, train_ms from steps where run_id = {run:String} order by step desc limit ${RECENT})
  ) as usual
  select entry, sequence, step, at, toUnixTimestamp64Milli(now64(3)) - toUnixTimestamp64Milli(at) as age_ms,
    usual.1 as wait_ms, usual.2 as train_ms
  from (${newestSql})`;

/** A trainer is silent when its newest entry is older than both this and five average steps. */
const SILENT_MS = 60_000;
/** The only limit before the first step, when the duration of a step is unknown. */
const SILENT_AT_FIRST_MS = 600_000;
const STEPS_UNTIL_SILENT = 5;

function isSilent({ age_ms, wait_ms, train_ms }: NewestEntry): boolean {
  if (wait_ms === null || train_ms === null) return age_ms > SILENT_AT_FIRST_MS;
  return age_ms > Math.max(SILENT_MS, STEPS_UNTIL_SILENT * (wait_ms + train_ms));
}

/** An external trainer trains while a batch is leased to it. For others, the time since the newest step is compared with usual times. */
function isTraining(entries: readonly NewestEntry[]): boolean {
  const find = (name: string): NewestEntry | undefined => entries.find(({ entry }) => entry === name);
  const [step, lease] = [find('StepCompleted'), find('BatchLeased')];
  if (lease === undefined) return step !== undefined && isUsuallyTraining(step);
  return lease.step > (step?.step ?? 0) && lease.sequence > (find('BatchReleased')?.sequence ?? -1);
}

function isUsuallyTraining({ age_ms, wait_ms, train_ms }: NewestEntry): boolean {
  if (wait_ms === null || train_ms === null) return false;
  return age_ms >= wait_ms && age_ms < wait_ms + 2 * train_ms;
}

export function trainerOf(entries: readonly NewestEntry[]): TrainerRow {
  const [newest] = [...entries].sort((a, b) => b.sequence - a.sequence);
  if (newest === undefined) return { trainer: '', ledger_entry: '', ledger_at: null };
  const { entry, at } = newest;
  const doing = isSilent(newest) ? 'silent' : isTraining(entries) ? 'training' : 'waiting';
  return { trainer: entry === 'RunFinished' ? '' : doing, ledger_entry: entry, ledger_at: at };
}

export async function readTrainer(store: Store, run: string): Promise<TrainerRow> {
  return trainerOf(await readRows<NewestEntry>(store, entriesSql, { run }));
}
