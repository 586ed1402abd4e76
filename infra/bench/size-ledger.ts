// Creates a ledger for a load, which has none: the entries that a trainer would write for its trajectories, inserted by the store itself.
// Every tenth group is discarded, eight groups make a step, and every step makes a version.
import type { Store } from '../../streams/core/ports.ts';

interface SyntheticTable {
  readonly table: string;
  /** The content of each column, by name. */
  readonly columns: Readonly<Record<string, string>>;
  readonly from: string;
}

const GROUP = "toInt32(toUInt32OrZero(splitByString('-g', group_id)[-1]))";
const STEP = `toInt32(intDiv(${GROUP}, 8) + 1)`;
/** A trainer takes only attempts of which it has every turn. */
const WHOLE = `(trajectory_id, attempt, turns) in
  (select trajectory_id, attempt, toInt32(uniqExact(turn)) from turns where run_id = {run:String} group by trajectory_id, attempt)`;
const FINISHED = `from trajectories where run_id = {run:String} and status = 'answered' and ${WHOLE}`;

const origin = { producer: "'bench'", _topic: "'training'", _partition: '0', _offset: '0' } as const;

const outcome: SyntheticTable['columns'] = {
  ...origin,
  ...{ run_id: 'run_id', group_id: 'group_id', trajectory_id: 'trajectory_id', attempt: 'attempt', question_id: 'question_id' },
  ...{ reward: 'reward', tokens: 'completion_tokens', turns: 'turns', version_first: 'version_first', version_last: 'version_last' },
  staleness_total: `${GROUP} % 4`,
  staleness_in_flight: `least(${GROUP} % 4, ${GROUP} % 2)`,
  staleness_in_queue: `${GROUP} % 4 - least(${GROUP} % 4, ${GROUP} % 2)`,
  staleness_worst: `${GROUP} % 4`,
  staleness_token_mean: `${GROUP} % 4`,
  flight_ms: "dateDiff('millisecond', started_at, finished_at)",
  queue_ms: 'cityHash64(trajectory_id) % 5000',
  event_id: 'trajectory_id',
  ...{ at: 'finished_at', _timestamp: '_timestamp' },
};

const made: readonly SyntheticTable[] = [
  {
    table: 'step_trajectories',
    columns: { ...outcome, step: STEP, version_before: `${STEP} - 1`, version_after: STEP, advantage: 'reward - 0.5' },
    from: `${FINISHED} and ${GROUP} % 10 != 0`,
  },
  {
    table: 'discarded_trajectories',
    columns: { ...outcome, version: `${STEP} - 1`, reason: `if(${GROUP} % 20 = 0, 'stale', 'equal_rewards')` },
    from: `${FINISHED} and ${GROUP} % 10 = 0`,
  },
  {
    table: 'steps',
    columns: {
      ...origin,
      ...{ run_id: 'run_id', step: 'step', sequence: 'step', version_before: 'step - 1', version_after: 'step', groups: '8' },
      ...{ trajectories: 'count()', tokens: 'sum(tokens)', reward_mean: 'avg(reward)', turns_mean: 'avg(turns)' },
      ...{
        staleness_mean: 'avg(staleness_total)',
        staleness_token_mean: 'avg(staleness_token_mean)',
        wait_ms: '900',
        train_ms: '100',
        at: 'max(at)',
        _timestamp: 'max(_timestamp)',
      },
    },
    from: 'from step_trajectories where run_id = {run:String} group by run_id, step',
  },
  {
    table: 'run_events',
    columns: {
      ...origin,
      ...{ run_id: '{run:String}', event: "'started'", algorithm: "'grpo'", learner: "'{}'", group_size: '8', batch_groups: '8' },
      ...{ max_staleness: '4', at: 'now64(6)', _timestamp: 'now64(3)' },
    },
    from: '',
  },
];

/** Creates the rows of a whole run; call it once per run. */
export async function writeLedgerRows(store: Store, run: string): Promise<void> {
  for (const { table, columns, from } of made) {
    const names = Object.keys(columns).join(', ');
    await store.command(`insert into ${table} (${names}) select ${Object.values(columns).join(', ')} ${from}`, { params: { run } });
  }
}
