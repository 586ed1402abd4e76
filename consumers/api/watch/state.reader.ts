// The current state of a run: its newest admission, how often it was continued, the worst sample of its newest step, and what its trainer
// does.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { readTrainer, type TrainerRow } from './trainer.reader.ts';
import type { stateColumns } from './watch.columns.ts';

type StateRow = RowOf<typeof stateColumns>;

const never = 'if(admitted.n = 0, null, admitted.at)';
const stateSql = `
  select toInt32(continued.n) as continued, admitted.capacity as capacity, admitted.running as running, admitted.max_concurrent as max_concurrent,
    ${never} as admitted_at, worst.made as worst_step, worst.id as worst_trajectory_id, toInt32(worst.attempt_of) as worst_attempt,
    if(worst.id = '', null, worst.least) as worst_reward
  from (select countIf(event = 'continued') as n from run_events where run_id = {run:String}) as continued
  cross join (
    select count() as n, argMax(capacity, sequence) as capacity, argMax(running, sequence) as running,
      argMax(max_concurrent, sequence) as max_concurrent, argMax(at, sequence) as at
    from admissions where run_id = {run:String}
  ) as admitted
  cross join (
    select max(step) as made, argMin(trajectory_id, reward) as id, argMin(attempt, reward) as attempt_of, min(reward) as least
    from step_trajectories where run_id = {run:String} and step = (select max(step) from step_trajectories where run_id = {run:String})
  ) as worst`;

type FiguresRow = Omit<StateRow, keyof TrainerRow>;

/** The state of an unknown run. */
const nothing: FiguresRow = {
  ...{ continued: 0, capacity: 0, running: 0, max_concurrent: 0, admitted_at: null },
  ...{ worst_step: 0, worst_trajectory_id: '', worst_attempt: 0, worst_reward: null },
};

export async function readState(store: Store, run: string): Promise<StateRow> {
  const [[row = nothing], trainer] = await Promise.all([readRows<FiguresRow>(store, stateSql, { run }), readTrainer(store, run)]);
  return { ...row, ...trainer };
}
