// Rebuilds groups from the log alone: folds the requests of `tasks` and the records of `rollouts` as the trainer does. Which groups made a
// step, and which of their trajectories had an outcome when it started, are decisions that the ledger records; everything else comes from
// the log.
import type { Resume, StepCompleted } from '../../schemas/generated/events.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { EventReader, LogReader, LogRecord } from '../../streams/core/ports.ts';
import { groupIdOf } from '../../streams/core/ids.ts';
import { runEvents, type RunSource } from '../../streams/core/read-log.ts';
import type { Group } from '../../streams/group/group.ts';
import { foldRollout, foldTask } from '../../streams/run/fold.ts';
import { rolloutView, type RolloutEvent } from '../../streams/trajectory/rollout-view.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import type { LedgerStep } from './replay-ledger.ts';

export interface RebuildSource extends RunSource {
  readonly log: LogReader;
  /** Reads `rollouts`; may decode through rolloutView. */
  readonly rollouts: EventReader;
}

export interface Rebuilt {
  readonly groups: ReadonlyMap<string, Group>;
  /** Trained trajectories without a finished attempt in the records that were read. */
  readonly missing: ReadonlySet<string>;
}

const positionsOf = (positions: Resume['tasks']): ReadonlyMap<number, number> =>
  new Map(positions.map(({ partition, offset }) => [partition, offset]));

type GroupEvent = Exclude<RolloutEvent, { readonly type: 'WorkerHeartbeat' }>;

const isOfGroup = (value: DecodedEvent): value is GroupEvent & DecodedEvent =>
  value.type in rolloutView && value.type !== 'WorkerHeartbeat';

type DecidedStep = Pick<LedgerStep, 'event' | 'counted'>;

/** The groups of the given steps, read from `resume`, or from the first record if it is undefined. */
export async function rebuildGroups(source: RebuildSource, steps: readonly DecidedStep[], resume: Resume | undefined): Promise<Rebuilt> {
  const state = newRunState(source.runId);
  const counted = steps.flatMap((step) => step.counted);
  // a run has the same names from its start to its end
  state.rewardNames = counted[0]?.names ?? [];
  const inTime = rewardsInTime(counted);
  const trained = steps.flatMap(({ event }) => event.trajectories);
  const groups = new Set(trained.map(({ group_id: id }) => id));
  const trajectories = new Set(trained.map(({ trajectory_id: id }) => id));
  await readTasks(source, state, { groups, unasked: new Set(trajectories), from: positionsOf(resume?.tasks ?? []) });
  const missing = await readRollouts(source, state, { groups, trajectories, inTime, from: positionsOf(resume?.rollouts ?? []) });
  return { groups: state.groups, missing };
}

/** Which attached rewards came before their groups were decided. */
interface RewardsInTime {
  includes(groupId: string, at: { readonly partition: number; readonly offset: number }): boolean;
  /** None of them lies at or after these offsets. */
  readonly ends: ReadonlyMap<number, number>;
}

function rewardsInTime(counted: LedgerStep['counted']): RewardsInTime {
  const groups = counted.flatMap((one) => one.groups);
  const ends = new Map<number, number>();
  for (const { partition, end } of groups) ends.set(partition, Math.max(end, ends.get(partition) ?? 0));
  const byGroup = new Map(groups.map(({ group_id: id, partition, end }) => [`${id}/${partition}`, end]));
  return { ends, includes: (id, { partition, offset }) => offset < (byGroup.get(`${id}/${partition}`) ?? 0) };
}

interface WantedRollouts {
  readonly inTime: RewardsInTime;
  readonly groups: ReadonlySet<string>;
  readonly trajectories: ReadonlySet<string>;
  readonly from: ReadonlyMap<number, number>;
}

function notePassed(ahead: Map<number, number>, { partition, offset }: Pick<LogRecord, 'partition' | 'offset'>): void {
  if (offset + 1 >= (ahead.get(partition) ?? Infinity)) ahead.delete(partition);
}

const isSettled = ({ groups }: RunState, id: string): boolean => groups.get(groupIdOf(id))?.trajectories.get(id)?.settled === true;

/** Returns the trajectories without a finished attempt. */
async function readRollouts(source: RebuildSource, state: RunState, wanted: WantedRollouts): Promise<ReadonlySet<string>> {
  const { groups, trajectories, from, inTime } = wanted;
  const missing = new Set(trajectories);
  const ahead = new Map(inTime.ends);
  const wants = ({ key, ...at }: LogRecord): boolean => {
    notePassed(ahead, at);
    return key !== null && groups.has(key.toString());
  };
  for await (const read of runEvents({ ...source, events: source.rollouts }, 'rollouts', { from, wants })) {
    if (!read.ok || !isOfGroup(read.value)) continue;
    const { group_id: group, trajectory_id: id } = read.value.event;
    if (read.value.type !== 'RewardAttached' || inTime.includes(group, read.record)) foldRollout(state, read.value, read.record);
    if (isSettled(state, id)) missing.delete(id);
    if (missing.size === 0 && ahead.size === 0) break;
  }
  return missing;
}

interface WantedTasks {
  readonly groups: ReadonlySet<string>;
  /** Trajectories whose request was not seen. */
  readonly unasked: Set<string>;
  readonly from: ReadonlyMap<number, number>;
}

async function readTasks(source: RunSource, state: RunState, { groups, unasked, from }: WantedTasks): Promise<void> {
  for await (const read of runEvents(source, 'tasks', { from })) {
    if (!read.ok || read.value.type !== 'TrajectoryRequested' || !groups.has(read.value.event.group_id)) continue;
    const { partition, offset } = read.record;
    foldTask(state, read.value.event, { partition, offset });
    unasked.delete(read.value.event.trajectory_id);
    if (unasked.size === 0) break;
  }
}

/** The groups of a step in batch order, oldest first, with the trajectories that the step trained on. */
export function groupsOfStep({ trajectories }: StepCompleted, groups: ReadonlyMap<string, Group>): readonly Group[] {
  const trained = new Set(trajectories.map(({ trajectory_id: id }) => id));
  const ids = new Set(trajectories.map(({ group_id: id }) => id));
  return [...ids]
    .flatMap((id) => groups.get(id) ?? [])
    .map((group) => ({ ...group, trajectories: new Map([...group.trajectories].filter(([id]) => trained.has(id))) }))
    .sort((a, b) => a.order - b.order);
}

/** Trajectories of a step's groups that it neither trained on nor discarded. */
export function forgottenBy(
  { event, discarded }: { readonly event: StepCompleted; readonly discarded: ReadonlySet<string> },
  groups: ReadonlyMap<string, Group>,
): readonly string[] {
  const known = new Set([...event.trajectories.map(({ trajectory_id: id }) => id), ...discarded]);
  const ids = new Set(event.trajectories.map(({ group_id: id }) => id));
  return [...ids].flatMap((id) => [...(groups.get(id)?.trajectories.keys() ?? [])]).filter((id) => !known.has(id));
}
