// What became of attempts: the step that trained on them, or why they were discarded. Read for the rows of one page.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';

/** Columns that the list of trajectories adds when `fields` names `fate`. */
export const fateColumns = { fate: 'text', fate_step: 'whole', fate_reason: 'text', fate_reward: 'number', advantage: 'number' } as const;

interface AttemptKey {
  readonly trajectory_id: string;
  readonly attempt: number;
}

export interface AttemptFate {
  /** `trained`, `collected`, `discarded`, `lost` (given up and not decided since), or `open`: the ledger has no decision about it. */
  readonly fate: string;
  /** Step that trained on it, batch that collected it, or step that made the version at which it was discarded; -1 without a decision. */
  readonly fate_step: number;
  /** Why it was discarded or given up; `rewound` even if a rewind abandoned the step that trained on it. */
  readonly fate_reason: string;
  /** Reward that was decided on: the recorded one plus the attached ones that count. */
  readonly fate_reward: number | null;
  readonly advantage: number | null;
}

const OPEN: AttemptFate = { fate: 'open', fate_step: -1, fate_reason: '', fate_reward: null, advantage: null };
const keyOf = ({ trajectory_id, attempt }: AttemptKey): string => `${attempt} ${trajectory_id}`;

/** Of several entries about an attempt, the last one in this order says what became of it. */
const ranks = ['open', 'lost', 'discarded', 'collected', 'trained'];
const rankOf = ({ fate }: AttemptFate): number => ranks.indexOf(fate);

const none = "cast(null, 'Nullable(Float64)')";

/** The entries about the attempts of some trajectories. */
const entriesSql = (where: string): string => `
  select trajectory_id, attempt, 'discarded' as fate, version as fate_step, toString(reason) as fate_reason,
    toNullable(reward) as fate_reward, ${none} as advantage
  from discarded_trajectories where ${where}
  union all
  select trajectory_id, attempt,
    if(step in (select version from abandoned_versions where run_id = {run:String}), 'discarded', 'trained') as fate, step as fate_step,
    if(fate = 'trained', '', 'rewound') as fate_reason, toNullable(reward) as fate_reward,
    toNullable(step_trajectories.advantage) as advantage
  from step_trajectories where ${where}
  union all
  select trajectory_id, attempt, 'collected' as fate, batch as fate_step, '' as fate_reason, toNullable(reward) as fate_reward,
    toNullable(collected_trajectories.advantage) as advantage
  from collected_trajectories where ${where}
  union all
  select trajectory_id, attempt, 'lost' as fate, toInt32(-1) as fate_step, toString(reason) as fate_reason, ${none} as fate_reward,
    ${none} as advantage
  from expired_attempts where ${where}`;

/** A lookup of the fate of each of these attempts. */
export async function readFates(store: Store, run: string, attempts: readonly AttemptKey[]): Promise<(attempt: AttemptKey) => AttemptFate> {
  if (attempts.length === 0) return () => OPEN;
  const ids = [...new Set(attempts.map(({ trajectory_id }) => trajectory_id))];
  const sql = entriesSql('run_id = {run:String} and trajectory_id in {ids:Array(String)}');
  const fates = new Map<string, AttemptFate>();
  for (const { trajectory_id, attempt, ...fate } of await readRows<AttemptKey & AttemptFate>(store, sql, { run, ids })) {
    const key = keyOf({ trajectory_id, attempt });
    if (rankOf(fate) > rankOf(fates.get(key) ?? OPEN)) fates.set(key, fate);
  }
  return (attempt) => fates.get(keyOf(attempt)) ?? OPEN;
}
