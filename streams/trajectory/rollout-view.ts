// The fields of rollout events that the fold of a run reads. A trainer decodes only these (createCodec's `view`): the long texts of a turn
// are skipped in place and never reach its heap.
import type {
  RewardAttached,
  TrajectoryFinished,
  TrajectoryStarted,
  TurnRecorded,
  WorkerHeartbeat,
} from '../../schemas/generated/events.ts';

const place = ['run_id', 'purpose', 'group_id', 'trajectory_id', 'attempt', 'sequence'] as const;

export const rolloutView = {
  TrajectoryStarted: [...place, 'worker_id'],
  TurnRecorded: [...place, 'policy_spans', 'completion_tokens', 'reward', 'decision'],
  TrajectoryFinished: [
    ...place,
    ...(['status', 'reward', 'f1', 'em', 'format_ok', 'turns', 'tool_calls', 'completion_tokens', 'started_at', 'finished_at'] as const),
  ],
  RewardAttached: ['run_id', 'group_id', 'trajectory_id', 'attempt', 'turn', 'name', 'value', 'identifier'],
  WorkerHeartbeat: ['run_id', 'worker_id', 'running'],
} as const;

type RolloutView = typeof rolloutView;
export type StartedView = Pick<TrajectoryStarted, RolloutView['TrajectoryStarted'][number]>;
export type TurnView = Pick<TurnRecorded, RolloutView['TurnRecorded'][number]>;
export type FinishedView = Pick<TrajectoryFinished, RolloutView['TrajectoryFinished'][number]>;

export type RewardView = Pick<RewardAttached, RolloutView['RewardAttached'][number]>;

/** The input of the fold; a complete event is valid too. */
export type RolloutEvent =
  | { readonly type: 'TrajectoryStarted'; readonly event: StartedView }
  | { readonly type: 'TurnRecorded'; readonly event: TurnView }
  | { readonly type: 'TrajectoryFinished'; readonly event: FinishedView }
  | { readonly type: 'RewardAttached'; readonly event: RewardView }
  | { readonly type: 'WorkerHeartbeat'; readonly event: Pick<WorkerHeartbeat, RolloutView['WorkerHeartbeat'][number]> };
