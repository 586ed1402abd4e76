// The whole state of one run as the trainer knows it: a fold of the ledger, the tasks and the rollouts. Nothing in it
// comes from anywhere else, so that a restart at the resume point of the last step rebuilds it.
//
// Order of a restart: the ledger from the first entry of the run to its end, then the tasks from `resume.tasks` to their
// end, then the requests that `tasks` no longer holds, then the rollouts from `resume.rollouts` for ever. The trainer is the only writer of the first two, so a rollout
// record whose group is not open by then belongs to a group that is closed: it is late, and changes nothing.
import type { RunFinished, RunStarted } from '../../schemas/generated/events.ts';
import type { Group, TaskPlace } from '../group/group.ts';
import { emptyChain, type ChainHead } from '../ledger/chain.ts';
import { newLeaseBook, type LeaseBook } from '../leases/lease-book.ts';
import type { GroupFate } from './waste.ts';

interface ClosedGroup {
  /** Offset of the ledger entry that closed it, or a lower bound of it. */
  readonly ledgerOffset: number;
  readonly tasks: TaskPlace[];
}

/** A group that the ledger admitted and has not closed: enough to ask for it again. */
export interface AdmittedGroup {
  /** Order of admission within the run. */
  readonly order: number;
  readonly questionId: string;
  readonly samples: number;
  /** Policy version when it was admitted. */
  readonly version: number;
  /** The newest attempt that was asked for, by trajectory; 0 for those that are not named. */
  readonly attempts: Map<string, number>;
}

interface Counters {
  admittedGroups: number;
  trainedGroups: number;
  discardedGroups: number;
  admittedTrajectories: number;
  trainedTrajectories: number;
  /** Without a step, of a run whose policy the trainer does not make. */
  collectedGroups: number;
  collectedTrajectories: number;
  batches: number;
  /** Trajectories of groups that were trained, collected or discarded. */
  closedTrajectories: number;
}

/** The versions between the two, exclusive, are not part of the chain of versions. */
export interface Rewind {
  readonly to: number;
  /** The version that it made. */
  readonly version: number;
}

export const isAbandoned = (rewinds: readonly Rewind[], version: number): boolean =>
  rewinds.some((rewind) => version > rewind.to && version < rewind.version);

/** The last folded record of a partition. If another record is at its offset later, the log was cut and rewritten. */
export interface RecordMark {
  readonly offset: number;
  readonly leaderEpoch: number;
}

export interface RunState {
  readonly runId: string;
  started: RunStarted | undefined;
  /** The end of the run; undefined while it is trained, and again once it is continued. */
  finished: RunFinished | undefined;
  /** Steps after which the run ends by itself, as the ledger says; 0 = no end. */
  plannedSteps: number;
  /** Newest version: of the trainer; or of the model, as far as it names any, of a run that is collected. -1 = none. */
  version: number;
  weightsSha256: string;
  /** Steps in a row that left the weights as they were. */
  idleSteps: number;
  /** What became of the groups that closed last, oldest first. */
  readonly recent: GroupFate[];
  /** The group that closed last. */
  closedLast: string;
  optimizerSha256: string;
  chain: ChainHead;
  /** Offset after the newest own entry of the training topic. */
  ledgerPosition: number;
  readonly counters: Counters;
  /** Groups that the ledger admitted and that have not closed, by id. */
  readonly admitted: Map<string, AdmittedGroup>;
  /** The same groups with what is known of their trajectories, by id. */
  readonly groups: Map<string, Group>;
  /** Open groups in which every trajectory has an outcome, by id. */
  readonly decided: Set<string>;
  /** Closed groups whose tasks may be read again after a restart. */
  readonly closed: Map<string, ClosedGroup>;
  /** Trajectories whose last attempt was given up, and the ledger offset that says so. */
  readonly exhausted: Map<string, number>;
  readonly rolloutPositions: Map<number, number>;
  /** The newest record of each partition of `rollouts` that was folded. */
  readonly rolloutMarks: Map<number, RecordMark>;
  readonly taskPositions: Map<number, number>;
  /** Rollout records of no open group. */
  lateRecords: number;
  /** How often an external trainer went back to an older version, oldest first. */
  readonly rewinds: Rewind[];
  /** Of an external trainer. */
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
