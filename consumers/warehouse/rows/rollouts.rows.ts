// Rows of the topic `rollouts`, for the tables trajectory_starts, turns, trajectories, rewards, and heartbeats.
import type { RewardAttached, TrajectoryFinished, TrajectoryStarted, WorkerHeartbeat } from '../../../schemas/generated/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import { float, type Origin } from './cells.ts';
import { row, type ProjectionsOf } from './projection.ts';
import { turnRow } from './turn-rows.ts';

const trajectoryStartRow = (event: TrajectoryStarted, origin: Origin): Row => ({ ...event, ...origin });

const trajectoryRow = (event: TrajectoryFinished, origin: Origin): Row => ({
  ...event,
  reward: float(event.reward),
  f1: float(event.f1),
  em: float(event.em),
  cem: float(event.cem),
  judge_ms: float(event.judge_ms),
  ...origin,
});

const rewardRow = (event: RewardAttached, origin: Origin): Row => ({ ...event, value: float(event.value), ...origin });

const heartbeatRow = (event: WorkerHeartbeat, origin: Origin): Row => ({
  run_id: event.run_id,
  worker_id: event.worker_id,
  policy_version: event.policy_version,
  capacity: event.capacity,
  running: event.running.length,
  running_trajectories: event.running.map((running) => running.trajectory_id),
  running_attempts: event.running.map((running) => running.attempt),
  addressee: event.addressee,
  event_id: event.event_id,
  occurred_at: event.occurred_at,
  producer: event.producer,
  ...origin,
});

export const rolloutProjections = {
  TrajectoryStarted: row('trajectory_starts', trajectoryStartRow),
  TurnRecorded: row('turns', turnRow),
  TrajectoryFinished: row('trajectories', trajectoryRow),
  RewardAttached: row('rewards', rewardRow),
  WorkerHeartbeat: row('heartbeats', heartbeatRow),
} satisfies ProjectionsOf<'rollouts'>;
