// Checks the leases of an external trainer from the raw ledger: each ends at most once, by a commit, a release or an expiry, and a commit
// has the rows of its lease, by hash. Shares no code with the lease book of the coordinator.
import type { DecodedEvent } from '../../../schemas/codec.ts';
import type { BatchLeased, StepCompleted } from '../../../schemas/generated/events.ts';
import type { Case } from './case.ts';
import { problemsOf, type TortureProblem } from './problem.ts';

/** Leases by how they ended. */
export interface LeaseCounts {
  readonly granted: number;
  readonly committed: number;
  readonly open: number;
  /** How often the run went back to an older version. */
  readonly rewinds: number;
  /** By reason. */
  readonly released: Readonly<Partial<Record<string, number>>>;
}

export function countLeases({ facts, rewinds }: Case): LeaseCounts {
  let [granted, committed] = [0, 0];
  const released: Partial<Record<string, number>> = {};
  for (const { read } of facts.training) {
    if (read.type === 'BatchLeased') granted += 1;
    if (read.type === 'StepCompleted' && read.event.batch_id !== '') committed += 1;
    if (read.type === 'BatchReleased') released[read.event.reason] = (released[read.event.reason] ?? 0) + 1;
  }
  const ended = Object.values(released).reduce((sum: number, count = 0) => sum + count, committed);
  return { granted, committed, open: granted - ended, rewinds: rewinds.length, released };
}

interface LeaseTally {
  epoch: number;
  version: number;
  /** Leases that have not ended, in the order in which they were granted. */
  out: readonly BatchLeased[];
  /** How each lease ended, by batch id. */
  readonly ended: Map<string, string>;
}

export function checkLeases({ facts, isExternal }: Case): readonly TortureProblem[] {
  const tally: LeaseTally = { epoch: 0, version: 0, out: [], ended: new Map() };
  const texts = facts.training.flatMap(({ read, offset }) => {
    const bare = isExternal && read.type === 'StepCompleted' && read.event.batch_id === '';
    const found = bare ? [`step ${read.event.step} has no lease`] : note(tally, read);
    return found.map((what) => `entry at offset ${offset}: ${what}`);
  });
  return problemsOf('lease', texts);
}

/** Adds an entry to the tally; returns what is wrong with it. */
function note(tally: LeaseTally, { type, event }: DecodedEvent): readonly string[] {
  switch (type) {
    case 'TrainerClaimed': {
      const left = tally.out.filter(({ batch_id: id }) => id !== event.prepared);
      const wrong = event.epoch === tally.epoch + 1 ? [] : [`epoch ${event.epoch} follows epoch ${tally.epoch}`];
      tally.epoch = event.epoch;
      return [...wrong, ...left.map(({ batch_id: id }) => `epoch ${event.epoch} begins while ${id} is out`)];
    }
    case 'BatchLeased': {
      const found = leaseProblems(tally, event);
      tally.out = [...tally.out, event];
      return found;
    }
    case 'BatchReleased': {
      const known = ['expired', 'returned', 'fenced', 'stale'].includes(event.reason);
      const wrong = known ? [] : [`${event.batch_id} was released as ${event.reason}, which is not a known reason`];
      return [...end(tally, event.batch_id, `released as ${event.reason}`), ...wrong];
    }
    case 'StepCompleted': {
      const found = event.batch_id === '' ? [] : commitProblems(tally, event);
      tally.version = event.version_after;
      return event.batch_id === '' ? [] : [...end(tally, event.batch_id, 'committed'), ...found];
    }
    case 'RunRewound':
      tally.version = event.version;
      return tally.out.map(({ batch_id: id }) => `version ${event.version} goes back while ${id} is out`);
    default:
      return [];
  }
}

/** Ends a lease; returns what is wrong if it was not out. */
function end(tally: LeaseTally, id: string, how: string): readonly string[] {
  const before = tally.ended.get(id);
  const isOut = tally.out.some(({ batch_id: one }) => one === id);
  tally.out = tally.out.filter(({ batch_id: one }) => one !== id);
  if (isOut) tally.ended.set(id, how);
  if (isOut) return [];
  return [before === undefined ? `${id} was ${how} and never leased` : `${id} was ${how} after it had been ${before}`];
}

const HASH = /^[0-9a-f]{64}$/;

function leaseProblems({ epoch, version, out, ended }: LeaseTally, lease: BatchLeased): readonly string[] {
  const { batch_id: id, step } = lease;
  const next = version + out.length + 1;
  const busy = new Set(out.flatMap(({ group_ids: ids }) => ids));
  const groups = new Set(lease.trajectories.map(({ group_id: group }) => group));
  const checks: readonly (readonly [boolean, string])[] = [
    [ended.has(id) || out.some(({ batch_id: one }) => one === id), `${id} was leased a second time`],
    [lease.epoch !== epoch, `${id} was leased under epoch ${lease.epoch}, the newest is ${epoch}`],
    [
      step !== next || lease.version_before !== step - 1,
      `${id} is for step ${step} from version ${lease.version_before}, the next is ${next}`,
    ],
    [!HASH.test(lease.batch_sha256) || lease.rows <= 0, `${id} has no rows, or no hash of them`],
    [lease.group_ids.some((group) => busy.has(group)), `${id} has a group of another lease that is out`],
    [[...groups].join() !== lease.group_ids.join(), `${id} has other groups than its trajectories`],
  ];
  return checks.flatMap(([is, what]) => (is ? [what] : []));
}

interface LeasedReward {
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly reward: number;
  readonly advantage: number;
}

const named = (all: readonly LeasedReward[]): string =>
  all.map(({ trajectory_id: id, attempt, reward, advantage }) => [id, attempt, reward, advantage].join('/')).join(' ');

function commitProblems({ out }: LeaseTally, step: StepCompleted): readonly string[] {
  const [lease] = out;
  if (lease?.batch_id !== step.batch_id) return [`step ${step.step} commits ${step.batch_id}, which is not the oldest lease that is out`];
  const left = new Set([...lease.untrainable, ...step.skipped.map(({ row }) => row)]).size;
  const checks: readonly (readonly [boolean, string])[] = [
    [step.step !== lease.step || step.version_before !== lease.version_before, 'has another step or base version than its lease'],
    [step.batch_sha256 !== lease.batch_sha256, 'trained on rows with another hash than that of its lease'],
    [named(step.trajectories) !== named(lease.trajectories), 'trained on other trajectories than those of its lease'],
    [step.trained_rows !== lease.rows - left, `trained ${step.trained_rows} rows of ${lease.rows} and left out ${left}`],
  ];
  return checks.flatMap(([is, what]) => (is ? [`step ${step.step} ${what}`] : []));
}
