// Checks that every admitted trajectory has one outcome or is still open, and that no group was skipped.
import { gather, groupOf, isOfAttempt, repeated, type GroupCase, type Case } from './case.ts';
import type { LogFact } from './facts.ts';
import { problemsOf, type TortureProblem } from './problem.ts';

export interface OutcomeCounts {
  readonly admitted: number;
  readonly trained: number;
  readonly discarded: number;
  readonly open: number;
}

/** Counts trajectories by outcome. */
export function countOutcomes({ groups }: Case): OutcomeCounts {
  const all = [...groups.values()];
  const trained = new Set(all.flatMap((group) => group.trained.map(({ row }) => row.trajectory_id)));
  const discarded = new Set(
    all.flatMap((group) => group.discards.map(({ event }) => event.trajectory_id)).filter((id) => !trained.has(id)),
  );
  const open = all.filter(({ closedAt }) => closedAt === Infinity).flatMap(({ trajectories }) => trajectories);
  const admitted = all.reduce((sum, { trajectories }) => sum + trajectories.length, 0);
  return { admitted, trained: trained.size, discarded: discarded.size, open: open.length };
}

export function checkOutcomes(of: Case): readonly TortureProblem[] {
  const { groups, steps, discards } = of;
  const closed = [...groups.values()].filter(({ closedAt }) => closedAt < Infinity);
  const lost = closed.flatMap((group) => group.trajectories.filter((id) => !isDecided(group, id)));
  const rows = steps.flatMap(({ event }) => event.trajectories);
  const final = discards.filter(({ event }) => !isOfAttempt(event.reason)).map(({ event }) => event.trajectory_id);
  const twice = repeated([...rows.map(({ trajectory_id: id }) => id), ...final]);
  const attempts = repeated([...rows, ...discards.map(({ event }) => event)].map((row) => `${row.trajectory_id}/${row.attempt}`));
  const known = new Set([...groups.values()].flatMap(({ trajectories }) => trajectories));
  const decided = new Set([...rows, ...discards.map(({ event }) => event)].map((row) => row.trajectory_id));
  return [
    ...problemsOf(
      'lost',
      lost.map((id) => `${id} was admitted, its group is closed, and nothing says what became of it`),
    ),
    ...problemsOf(
      'doubled',
      twice.map((id) => `${id} has more than one outcome`),
    ),
    ...problemsOf(
      'doubled',
      attempts.map((id) => `attempt ${id} has more than one outcome`),
    ),
    ...problemsOf(
      'stranger',
      [...decided].filter((id) => !known.has(id)).map((id) => `${id} was never admitted`),
    ),
    ...problemsOf(
      'doubled',
      repeated(admissions(of)).map((id) => `group ${id} was admitted twice`),
    ),
    ...problemsOf('doubled', closed.flatMap(closedTwice)),
  ];
}

const admissions = ({ facts }: Case): readonly string[] =>
  facts.training.flatMap(({ read }) => (read.type === 'GroupsAdmitted' ? read.event.groups.map((group) => group.group_id) : []));

/** Trained on or discarded. If every attempt of a trajectory is invalid, it has only discards of attempts. */
const isDecided = (group: GroupCase, id: string): boolean =>
  group.trained.some(({ row }) => row.trajectory_id === id) ||
  group.discards.some(({ event }) => event.trajectory_id === id && event.reason !== 'superseded');

/** A group closes in one transaction: within a step, or without one. */
function closedTwice(group: GroupCase): readonly string[] {
  const steps = new Set(group.trained.map(({ step }) => step.event.step));
  return steps.size > 1 ? [`group ${group.id} is in steps ${[...steps].join(', ')}`] : [];
}

/**
 * Groups are trained oldest first. When a step trains on a group whose last record comes after the last record of an older group in the
 * same partition, the trainer knew the older one, which must therefore be closed by the next step at the latest.
 */
export function checkOrder(of: Case): readonly TortureProblem[] {
  const decided = [...of.groups.values()].flatMap((group) => {
    if (of.touched.has(group.id)) return [];
    const histories = group.trajectories.map((id) => of.histories.get(id));
    if (histories.some((history) => history?.winner === undefined)) return [];
    const at = Math.max(...histories.map((history) => history?.wonAt ?? 0));
    return [{ ...group, at, partition: histories[0]?.partition ?? -1 }];
  });
  const sequenceAfter = new Map(of.steps.map(({ event }, i) => [event.step, of.steps[i + 1]?.event.sequence ?? Infinity]));
  const passed: string[] = [];
  for (const groups of gather(decided.map((group) => [group.partition, group] as const)).values()) {
    for (const young of groups) {
      const [first] = young.trained;
      if (first === undefined) continue;
      const limit = sequenceAfter.get(first.step.event.step) ?? Infinity;
      const old = groups.filter(({ index, at, closedAt }) => index < young.index && at < young.at && closedAt > limit);
      passed.push(
        ...old.map(({ id }) => `${id} was whole before ${young.id}, which step ${first.step.event.step} trained on, and was passed over`),
      );
    }
  }
  return problemsOf('order', passed);
}

/** More steps than fit into any deadline of an open group. */
const STUCK_AFTER_STEPS = 100;

/** No group stays open forever: each attempt has a deadline, and the number of attempts is limited. */
export function checkStuck({ groups, steps }: Case): readonly TortureProblem[] {
  const stuck = [...groups.values()].filter(({ sequence, closedAt }) => {
    const since = steps.filter(({ event }) => event.sequence > sequence).length;
    return closedAt === Infinity && since > STUCK_AFTER_STEPS;
  });
  return problemsOf(
    'stuck',
    stuck.map(({ id }) => `${id} has been open for more than ${STUCK_AFTER_STEPS} steps`),
  );
}

/** Checks that an attempt is run by one worker because of one request, and is written once. */
export function checkAttempts({ facts, histories }: Case): readonly TortureProblem[] {
  const requests = requestsOf(facts.tasks);
  const asked = new Set([...requests, ...facts.gone.flatMap(({ tasks }) => requestsOf(tasks))]);
  const attempts = [...histories.values()].flatMap(({ id, attempts: own }) =>
    [...own.values()].map((attempt) => ({ id: `${id}/${attempt.number}`, attempt })),
  );
  return [
    ...problemsOf(
      'attempt',
      attempts.filter(({ attempt }) => attempt.workers.size > 1).map(({ id }) => `attempt ${id} was run by two workers`),
    ),
    ...problemsOf(
      'attempt',
      attempts.filter(({ attempt }) => attempt.conflicting > 0).map(({ id }) => `attempt ${id} was written twice, differently`),
    ),
    ...problemsOf(
      'attempt',
      attempts.filter(({ id }) => !asked.has(id)).map(({ id }) => `attempt ${id} was never asked for`),
    ),
    ...problemsOf(
      'request',
      [...new Set(repeated(requests))].map((id) => `attempt ${id} was asked for twice`),
    ),
    ...checkRequests(facts, asked),
  ];
}

const requestsOf = (tasks: readonly LogFact[]): readonly string[] =>
  tasks.flatMap(({ read }) => (read.type === 'TrajectoryRequested' ? [`${read.event.trajectory_id}/${read.event.attempt}`] : []));

/** Checks that the requests match the decisions in the ledger. */
function checkRequests(facts: Case['facts'], asked: ReadonlySet<string>): readonly TortureProblem[] {
  const decided = new Set(
    facts.training.flatMap(({ read }) => {
      if (read.type === 'GroupsAdmitted') {
        return read.event.groups.flatMap((group) => Array.from({ length: group.samples }, (_, i) => `${group.group_id}.${i}/0`));
      }
      if (read.type !== 'TrajectoryExpired' || read.event.next_attempt < 0) return [];
      return [`${read.event.trajectory_id}/${read.event.next_attempt}`];
    }),
  );
  return [
    ...problemsOf(
      'request',
      [...decided].filter((id) => !asked.has(id)).map((id) => `attempt ${id} was decided and not asked for`),
    ),
    ...problemsOf(
      'request',
      [...asked].filter((id) => !decided.has(id)).map((id) => `attempt ${id} was asked for and not decided`),
    ),
  ];
}

/** Reports trajectories that have records although their group was never admitted. */
export const unknownGroups = ({ groups, histories }: Case): readonly TortureProblem[] =>
  problemsOf(
    'stranger',
    [...histories.keys()].filter((id) => !groups.has(groupOf(id))).map((id) => `${id} has records and was never admitted`),
  );
