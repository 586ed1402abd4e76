// What became of attempts: the step that trained on them, or why they were discarded. Read for the rows of one page.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';

/** Columns that the list of trajectories adds when `fields` names `fate`. */
export const fateColumns = { fate: 'text', fate_step: 'whole', fate_reason: 'text', advantage: 'number' } as const;

interface AttemptKey {
  readonly trajectory_id: string;
  readonly attempt: number;
}

export interface AttemptFate {
  /** `trained`, `discarded`, or `open`: the ledger has no decision about it. */
  readonly fate: string;
  /** Step that trained on it, or that made the version at which it was discarded; -1 while open. */
  readonly fate_step: number;
  readonly fate_reason: string;
  readonly advantage: number | null;
}

const OPEN: AttemptFate = { fate: 'open', fate_step: -1, fate_reason: '', advantage: null };
const keyOf = ({ trajectory_id, attempt }: AttemptKey): string => `${attempt} ${trajectory_id}`;

/** A lookup of the fate of each of these attempts. */
export async function readFates(store: Store, run: string, attempts: readonly AttemptKey[]): Promise<(attempt: AttemptKey) => AttemptFate> {
  if (attempts.length === 0) return () => OPEN;
  const ids = [...new Set(attempts.map(({ trajectory_id }) => trajectory_id))];
  const where = 'run_id = {run:String} and trajectory_id in {ids:Array(String)}';
  const rows = await readRows<AttemptKey & AttemptFate>(
    store,
    `select trajectory_id, attempt, 'discarded' as fate, version as fate_step, toString(reason) as fate_reason, cast(null, 'Nullable(Float64)') as advantage
     from discarded_trajectories where ${where}
     union all
     select trajectory_id, attempt, 'trained' as fate, step as fate_step, '' as fate_reason, toNullable(step_trajectories.advantage) as advantage
     from step_trajectories where ${where}`,
    { run, ids },
  );
  const fates = new Map<string, AttemptFate>();
  for (const { trajectory_id, attempt, ...fate } of rows) {
    const key = keyOf({ trajectory_id, attempt });
    if (fate.fate === 'trained' || !fates.has(key)) fates.set(key, fate);
  }
  return (attempt) => fates.get(keyOf(attempt)) ?? OPEN;
}
