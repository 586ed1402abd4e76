// The state of one run in the trainer: a fold of the ledger, the tasks, and the rollouts, and of nothing else, so that a restart at the
// resume point of the last step rebuilds it. A restart reads, in this order: the ledger from the run's first entry to its end, the tasks
// from `resume.tasks` to their end, requests that `tasks` no longer holds, and then the rollouts from `resume.rollouts` on. The trainer is
// the only writer of ledger and tasks, so a rollout record whose group is not open at that point belongs to a closed group: it is late, and
// changes nothing.
import type { RunFinished, RunStarted } from '../../schemas/generated/events.ts';
import type { Group, TaskPlace } from '../group/group.ts';
import { emptyChain, type ChainHead } from '../ledger/chain.ts';
import { newLeaseBook, type LeaseBook } from '../leases/lease-book.ts';
import type { GroupFate } from './waste.ts';

interface ClosedGroup {
  /** Offset of the ledger entry that closed it, or a lower bound. */
  readonly ledgerOffset: number;
  readonly tasks: TaskPlace[];
}

/** A group that was admitted and is not closed, with everything needed to request it again. */
export interface AdmittedGroup {
  /** Order of admission within the run. */
  readonly order: number;
  readonly questionId: string;
  readonly samples: number;
  /** Policy version at its admission. */
  readonly version: number;
  /** Number of the newest requested attempt, by trajectory; 0 if absent. */
  readonly attempts: Map<string, number>;
}

interface Counters {
  admittedGroups: number;
  trainedGroups: number;
  discardedGroups: number;
  admittedTrajectories: number;
  trainedTrajectories: number;
  /** Groups of collected batches, in a run whose policy the trainer does not make. */
  collectedGroups: number;
  collectedTrajectories: number;
  batches: number;
  /** Trajectories of groups that were trained, collected, or discarded. */
  closedTrajectories: number;
}

/** A rewind. The versions between the two, exclusive, are not part of the chain of versions. */
export interface Rewind {
  readonly to: number;
  /** The version that the rewind made. */
  readonly version: number;
}

export const isAbandoned = (rewinds: readonly Rewind[], version: number): boolean =>
  rewinds.some((rewind) => version > rewind.to && version < rewind.version);

/** The last folded record of a partition. If another record has its offset later, the log was truncated and rewritten. */
export interface RecordMark {
  readonly offset: number;
  readonly leaderEpoch: number;
}

export interface RunState {
  readonly runId: string;
  started: RunStarted | undefined;
  /** The end of the run; undefined before it, and after the run is continued. */
  finished: RunFinished | undefined;
  /** Number of steps in the ledger after which the run ends by itself; 0 = unlimited. */
  plannedSteps: number;
  /** Newest version of the trainer, or of the model in a collected run, if it reports versions. -1 = none. */
  version: number;
  weightsSha256: string;
  /** Number of consecutive steps that did not change the weights. */
  idleSteps: number;
  /** Outcomes of the most recently closed groups, oldest first. */
  readonly recent: GroupFate[];
  /** The most recently closed group. */
  closedLast: string;
  optimizerSha256: string;
  chain: ChainHead;
  /** Offset after the run's newest entry in the training topic. */
  ledgerPosition: number;
  readonly counters: Counters;
  /** Admitted groups that are not closed, by id. */
  readonly admitted: Map<string, AdmittedGroup>;
  /** The same groups with their trajectories, by id. */
  readonly groups: Map<string, Group>;
  /** Open groups in which every trajectory has an outcome, by id. */
  readonly decided: Set<string>;
  /** Closed groups whose tasks may be read again after a restart. */
  readonly closed: Map<string, ClosedGroup>;
  /** Trajectories whose last attempt was given up, with the offset of that ledger entry. */
  readonly exhausted: Map<string, number>;
  readonly rolloutPositions: Map<number, number>;
  /** The newest folded record of each partition of `rollouts`. */
  readonly rolloutMarks: Map<number, RecordMark>;
  readonly taskPositions: Map<number, number>;
  /** Number of rollout records that belong to no open group. */
  lateRecords: number;
  /** Rewinds of an external trainer, oldest first. */
  readonly rewinds: Rewind[];
  /** Claims, leases, and commits of an external trainer. */
  readonly leases: LeaseBook;
  /** Names of the attached rewards that the run waits for and trains on, sorted. */
  rewardNames: readonly string[];
}

export const newRunState = (runId: string): RunState => ({
  runId,
  started: undefined,
  finished: undefined,
  plannedSteps: 0,
  version: 0,
  weightsSha256: '',
  idleSteps: 0,
  recent: [],
  closedLast: '',
  optimizerSha256: '',
  chain: emptyChain,
  ledgerPosition: 0,
  counters: {
    admittedGroups: 0,
    trainedGroups: 0,
    discardedGroups: 0,
    admittedTrajectories: 0,
    trainedTrajectories: 0,
    collectedGroups: 0,
    collectedTrajectories: 0,
    batches: 0,
    closedTrajectories: 0,
  },
  admitted: new Map(),
  groups: new Map(),
  decided: new Set(),
  closed: new Map(),
  exhausted: new Map(),
  rolloutPositions: new Map(),
  rolloutMarks: new Map(),
  taskPositions: new Map(),
  lateRecords: 0,
  rewinds: [],
  leases: newLeaseBook(),
  rewardNames: [],
});
