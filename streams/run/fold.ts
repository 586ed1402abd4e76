import type {
  BatchCollected,
  GroupsAdmitted,
  RunRewound,
  RunStarted,
  StepCompleted,
  TrajectoryDiscarded,
  TrajectoryExpired,
  TrajectoryRequested,
  WeightsNamed,
} from '../../schemas/generated/events.ts';
import {
  attemptOf,
  foldRequest,
  isResolved,
  newGroup,
  noteEnding,
  noteExhausted,
  notePlace,
  type Group,
  type TaskPlace,
  type Trajectory,
} from '../group/group.ts';
import { groupIdOf } from '../core/ids.ts';
import type { LogBatch } from '../core/ports.ts';
import { foldLeases, isOfLeases, type LeaseEntry } from '../leases/lease-book.ts';
import { advance, type LedgerEntry } from '../ledger/chain.ts';
import { foldFinished, foldReward, foldStarted, foldTurn, type Attempt } from '../trajectory/attempt.ts';
import { rewardNamesOf } from './reward-names.ts';
import type { RewardView, RolloutEvent } from '../trajectory/rollout-view.ts';
import type { RunState } from './run-state.ts';
import { fateOf, RECENT_GROUPS, UNFINISHED, type GroupFate } from './waste.ts';

/** The backend in RunStarted of a run whose policy the trainer does not make. */
export const NO_LEARNER = 'none';

/** The same for a run with an external trainer. */
export const EXTERNAL = 'external';

/** Entries about leases, which foldLeases has folded, and RewardsCounted, which only explains the decisions of other entries. */
const isFolded = (entry: LedgerEntry): entry is LeaseEntry | Extract<LedgerEntry, { readonly type: 'RewardsCounted' }> =>
  isOfLeases(entry) || entry.type === 'RewardsCounted';

/** Folds one ledger entry of this run. `body` is its Avro body, `offset` its position in the training topic. */
export function foldLedger(state: RunState, entry: LedgerEntry, at: { readonly body: Buffer; readonly offset: number }): void {
  state.chain = { ...advance(state.chain, at.body), sequence: entry.event.sequence + 1 };
  state.ledgerPosition = at.offset + 1;
  foldLeases(state.leases, entry, state.chain.previousSha256);
  if (isFolded(entry)) return;
  switch (entry.type) {
    case 'RunStarted':
      foldStart(state, entry.event);
      break;
    case 'GroupsAdmitted':
      foldAdmission(state, entry.event);
      break;
    case 'StepCompleted':
      foldStep(state, entry.event, at.offset);
      break;
    case 'BatchCollected':
      foldBatch(state, entry.event, at.offset);
      break;
    case 'TrajectoryDiscarded':
      foldDiscard(state, entry.event, at.offset);
      break;
    case 'TrajectoryExpired':
      foldExpiry(state, entry.event, at.offset);
      break;
    case 'RunFinished':
      state.finished = entry.event;
      break;
    case 'RunContinued':
      state.finished = undefined;
      state.plannedSteps = entry.event.steps;
      // the cause of the end was resolved before the run was continued
      state.recent.length = 0;
      state.idleSteps = 0;
      break;
    default:
      foldVersion(state, entry);
  }
}

function foldStart(state: RunState, started: RunStarted): void {
  state.started = started;
  state.rewardNames = rewardNamesOf(started);
  state.plannedSteps = started.steps;
  state.weightsSha256 = started.weights_sha256;
  if (started.backend === NO_LEARNER) state.version = -1;
}

/** True for a run whose policy the trainer does not make: it collects batches. */
export const isCollected = (state: RunState): boolean => state.started?.backend === NO_LEARNER;

/** The version of a model never goes back: an entry may name a newer one than any kept batch does. */
function noteModelVersion(state: RunState, version: number): void {
  if (isCollected(state)) state.version = Math.max(state.version, version);
}

function foldAdmission(state: RunState, { groups, version }: GroupsAdmitted): void {
  const { counters } = state;
  noteModelVersion(state, version);
  for (const { group_id: id, question_id: questionId, samples } of groups) {
    state.admitted.set(id, { order: counters.admittedGroups, questionId, samples, version, attempts: new Map() });
    counters.admittedGroups += 1;
    counters.admittedTrajectories += samples;
  }
}

function foldExpiry(state: RunState, { trajectory_id: id, next_attempt: next }: TrajectoryExpired, ledgerOffset: number): void {
  if (next < 0) exhaust(state, id, ledgerOffset);
  else state.admitted.get(groupIdOf(id))?.attempts.set(id, next);
}

function foldStep(state: RunState, step: StepCompleted, ledgerOffset: number): void {
  state.version = step.version_after;
  state.idleSteps = step.weights_sha256 !== '' && step.weights_sha256 === state.weightsSha256 ? state.idleSteps + 1 : 0;
  state.weightsSha256 = step.weights_sha256;
  state.optimizerSha256 = step.optimizer_sha256;
  state.counters.trainedTrajectories += step.trajectories.length;
  for (const { group_id: id } of step.trajectories) {
    if (closeGroup(state, { id, fate: '' }, ledgerOffset)) state.counters.trainedGroups += 1;
  }
}

/** Entries of an external trainer other than steps. */
function foldVersion(state: RunState, entry: Extract<LedgerEntry, { readonly type: 'RunRewound' | 'WeightsNamed' }>): void {
  if (entry.type === 'RunRewound') foldRewind(state, entry.event);
  else foldWeights(state, entry.event);
}

/** The trajectories of abandoned steps count as discarded. Their groups still count for admission, because their versions are used up. */
function foldRewind(state: RunState, rewound: RunRewound): void {
  state.version = rewound.version;
  state.weightsSha256 = rewound.weights_sha256;
  state.idleSteps = 0;
  state.counters.trainedTrajectories -= rewound.trajectories;
  state.rewinds.push({ to: rewound.to_version, version: rewound.version });
}

function foldWeights(state: RunState, { version, sha256 }: WeightsNamed): void {
  if (version === state.version) state.weightsSha256 = sha256;
}

function foldBatch(state: RunState, batch: BatchCollected, ledgerOffset: number): void {
  const { counters } = state;
  noteModelVersion(state, batch.version);
  counters.batches += 1;
  counters.collectedTrajectories += batch.trajectories.length;
  for (const { group_id: id } of batch.trajectories) {
    if (closeGroup(state, { id, fate: '' }, ledgerOffset)) counters.collectedGroups += 1;
  }
}

/** The discards of a group are consecutive; those of single attempts may precede the one that has the reason why the group closed. */
function foldDiscard(state: RunState, { group_id: id, reason, version }: TrajectoryDiscarded, ledgerOffset: number): void {
  noteModelVersion(state, version);
  const fate = fateOf(reason);
  if (closeGroup(state, { id, fate }, ledgerOffset)) state.counters.discardedGroups += 1;
  else if (state.closedLast === id && state.recent.at(-1) === UNFINISHED) {
    state.recent.pop();
    noteFate(state, fate);
  }
}

/** A rewind does not tell whether the run is worth continuing. */
function noteFate({ recent }: RunState, fate: GroupFate): void {
  if (fate === 'rewound') return;
  recent.push(fate);
  if (recent.length > 2 * RECENT_GROUPS) recent.splice(0, RECENT_GROUPS);
}

/** Closes a group; false if it was closed before. */
function closeGroup(
  state: RunState,
  { id: groupId, fate }: { readonly id: string; readonly fate: GroupFate },
  ledgerOffset: number,
): boolean {
  if (state.closed.has(groupId)) return false;
  state.closedLast = groupId;
  noteFate(state, fate);
  const group = state.groups.get(groupId);
  state.closed.set(groupId, { ledgerOffset, tasks: group?.tasks ?? [] });
  state.counters.closedTrajectories += state.admitted.get(groupId)?.samples ?? 0;
  state.admitted.delete(groupId);
  state.groups.delete(groupId);
  state.decided.delete(groupId);
  for (const id of state.exhausted.keys()) if (groupIdOf(id) === groupId) state.exhausted.delete(id);
  return true;
}

function exhaust(state: RunState, trajectoryId: string, ledgerOffset: number): void {
  if (state.exhausted.has(trajectoryId)) return;
  state.exhausted.set(trajectoryId, ledgerOffset);
  const group = state.groups.get(groupIdOf(trajectoryId));
  const trajectory = group?.trajectories.get(trajectoryId);
  if (group === undefined || trajectory === undefined) return;
  noteExhausted(group, trajectory);
  noteDecided(state, group);
}

/** Maintains the index of decided groups, so that open groups need not be searched. */
function noteDecided(state: RunState, group: Group): void {
  if (isResolved(group)) state.decided.add(group.id);
}

/** Folds one request of this run. Requests for evaluations and other purposes are ignored. */
export function foldTask(state: RunState, request: TrajectoryRequested, place: TaskPlace): void {
  raise(state.taskPositions, place);
  if (request.purpose !== 'train') return;
  const closed = state.closed.get(request.group_id);
  if (closed !== undefined) {
    closed.tasks.push(place);
    return;
  }
  const group = state.groups.get(request.group_id) ?? open(state, request);
  foldRequest(group, request, place);
  const trajectory = group.trajectories.get(request.trajectory_id);
  if (trajectory !== undefined && state.exhausted.has(trajectory.id)) noteExhausted(group, trajectory);
  noteDecided(state, group);
}

function open(state: RunState, request: TrajectoryRequested): Group {
  const group = newGroup(request, state.rewardNames);
  state.groups.set(group.id, group);
  return group;
}

/** Advances a position to after `place`. */
export function raise(positions: Map<number, number>, place: TaskPlace): void {
  if ((positions.get(place.partition) ?? 0) <= place.offset) positions.set(place.partition, place.offset + 1);
}

/** Notes that a batch of `rollouts` was folded. */
export function noteRead(
  state: RunState,
  { partition, records, nextOffset }: Pick<LogBatch, 'partition' | 'records' | 'nextOffset'>,
): void {
  raise(state.rolloutPositions, { partition, offset: nextOffset - 1 });
  const last = records.at(-1);
  if (last?.leaderEpoch !== undefined) state.rolloutMarks.set(partition, { offset: last.offset, leaderEpoch: last.leaderEpoch });
}

/** Folds one record of `rollouts`, in the order of the log within its group; call noteRead after the batch. Never throws. */
export function foldRollout(state: RunState, { type, event }: RolloutEvent, place: TaskPlace): void {
  if (type === 'WorkerHeartbeat') return;
  if (type === 'RewardAttached') {
    foldAttached(state, event, place);
    return;
  }
  const found = find(state, event, place);
  if (found === undefined) return;
  const { group, trajectory, attempt } = found;
  if (type === 'TurnRecorded') {
    foldTurn(attempt, event);
  } else if (type === 'TrajectoryStarted') {
    foldStarted(attempt, event);
  } else {
    foldFinished(attempt, event);
  }
  if (attempt.ending === undefined) return;
  noteEnding(group, trajectory, attempt);
  noteDecided(state, group);
}

/** A reward may arrive before the end of its attempt. It changes nothing once its group is closed. */
function foldAttached(state: RunState, event: RewardView, place: TaskPlace): void {
  if (!Number.isFinite(event.value)) return;
  const found = find(state, { ...event, purpose: 'train' }, place);
  if (found === undefined) return;
  const { group, trajectory, attempt } = found;
  group.hasAttached = true;
  foldReward(attempt, event, group.awaited);
  if (attempt.ending === undefined) return;
  noteEnding(group, trajectory, attempt);
  noteDecided(state, group);
}

interface FoldTarget {
  readonly group: Group;
  readonly trajectory: Trajectory;
  readonly attempt: Attempt;
}

function find(
  state: RunState,
  event: { readonly purpose: string; readonly group_id: string; readonly trajectory_id: string; readonly attempt: number },
  place: TaskPlace,
): FoldTarget | undefined {
  const group = event.purpose === 'train' ? state.groups.get(event.group_id) : undefined;
  const trajectory = group?.trajectories.get(event.trajectory_id);
  const attempt = trajectory === undefined ? undefined : attemptOf(trajectory, event.attempt);
  if (group === undefined || trajectory === undefined || attempt === undefined) {
    state.lateRecords += 1;
    return undefined;
  }
  notePlace(group, place);
  return { group, trajectory, attempt };
}
