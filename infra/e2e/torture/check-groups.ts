// Every admitted group was trained on, was discarded, or is open, which means that somebody will continue it: what it waits for is in the
// log. A group without any trace is lost, whatever state the ledger counts it in.
import type { GroupCase, Case } from './case.ts';
import { eventsOf } from './facts.ts';
import { problemsOf, type TortureProblem } from './problem.ts';

/** Groups by outcome: admitted = trained + discarded + open + lost. */
export interface GroupCounts {
  readonly admitted: number;
  readonly trained: number;
  readonly discarded: number;
  readonly open: number;
  readonly lost: number;
}

export function countGroups(of: Case): GroupCounts {
  const all = [...of.groups.values()];
  const trained = all.filter((group) => group.trained.length > 0).length;
  const closed = all.filter(({ closedAt }) => closedAt < Infinity).length;
  const lost = new Set(vanished(of).map(({ group }) => group)).size;
  return { admitted: all.length, trained, discarded: closed - trained, open: all.length - closed - lost, lost };
}

/** A trajectory that is waited for can still arrive: its newest attempt has started, or its request is in the log. */
export function checkVanished(of: Case): readonly TortureProblem[] {
  return problemsOf(
    'lost',
    vanished(of).map(
      ({ id, attempt }) => `attempt ${id}/${attempt} is waited for, and neither its request nor a record of it is in the log`,
    ),
  );
}

interface Vanished {
  readonly group: string;
  readonly id: string;
  readonly attempt: number;
}

function vanished(of: Case): readonly Vanished[] {
  const newest = newestAttempts(of);
  const alive = new Set([
    ...of.facts.tasks.flatMap(({ read }) =>
      read.type === 'TrajectoryRequested' ? [`${read.event.trajectory_id}/${read.event.attempt}`] : [],
    ),
    ...of.facts.rollouts.map(({ trajectory, attempt }) => `${trajectory}/${attempt}`),
    ...of.facts.heartbeats.flatMap(({ running }) => running),
  ]);
  return [...of.groups.values()]
    .filter(({ closedAt }) => closedAt === Infinity)
    .flatMap((group) => waitedFor(of, group, newest))
    .filter(({ id, attempt }) => !alive.has(`${id}/${attempt}`));
}

/** The newest attempts of trajectories of which an attempt was given up; -1 if there is no next attempt. */
function newestAttempts({ facts }: Case): ReadonlyMap<string, number> {
  return new Map(eventsOf(facts.training, 'TrajectoryExpired').map(({ event }) => [event.trajectory_id, event.next_attempt]));
}

const waitedFor = (of: Case, group: GroupCase, newest: ReadonlyMap<string, number>): readonly Vanished[] =>
  group.trajectories
    .map((id) => ({ group: group.id, id, attempt: newest.get(id) ?? 0 }))
    .filter(({ id, attempt }) => attempt >= 0 && of.histories.get(id)?.winner === undefined);
