// The oracle finds no problem in a good log of an external trainer, and detects every corruption of its leases and its versions.
import { describe, expect, it } from 'vitest';
import type { EventByType } from '../../../schemas/generated/events.ts';
import type { LogFact, RunFacts } from './facts.ts';
import { goodLeased as good, setUpGoodLeases } from './good-leases.testing.ts';
import { judgeRun } from './oracle.ts';
import type { ProblemKind } from './problem.ts';
import { edit } from './edit-fact.testing.ts';

setUpGoodLeases();

type CorruptedType = Extract<
  keyof EventByType,
  'TrainerClaimed' | 'BatchLeased' | 'BatchReleased' | 'StepCompleted' | 'RunRewound' | 'TrajectoryDiscarded'
>;

/** The log with the `nth` entry of a type replaced by what `change` makes of it. */
function withEntries(type: CorruptedType, change: (fact: LogFact) => readonly LogFact[], nth = 1): RunFacts {
  let seen = 0;
  const training = good.training.flatMap((fact) => {
    if (fact.read.type === type) seen += 1;
    return fact.read.type === type && seen === nth ? change(fact) : [fact];
  });
  expect(seen).toBeGreaterThanOrEqual(nth);
  return { ...good, training };
}

function changed<T extends CorruptedType>(type: T, change: (event: EventByType[T]) => Partial<EventByType[T]>, nth = 1): RunFacts {
  return withEntries(type, (fact) => [edit<T>(fact, (event) => ({ ...event, ...change(event) }))], nth);
}

const stepsIn = ({ training }: RunFacts): readonly EventByType['StepCompleted'][] =>
  training.flatMap(({ read }) => (read.type === 'StepCompleted' ? [read.event] : []));

/** The last step also trains on a trajectory of the step before it, and its lease contains the trajectory. */
function trainedTwice(): RunFacts {
  const [first, second] = stepsIn(good).slice(-2);
  const again = first!.trajectories[0]!;
  const { trajectory_id, group_id, attempt, reward, advantage } = again;
  return {
    ...good,
    training: good.training.map((fact) => {
      if (fact.read.type === 'BatchLeased' && fact.read.event.batch_id === second!.batch_id) {
        const leased = { trajectory_id, group_id, attempt, reward, advantage };
        return edit<'BatchLeased'>(fact, (event) => ({ ...event, trajectories: [...event.trajectories, leased] }));
      }
      if (fact.read.type !== 'StepCompleted' || fact.read.event.step !== second!.step) return fact;
      return edit<'StepCompleted'>(fact, (event) => ({ ...event, trajectories: [...event.trajectories, again] }));
    }),
  };
}

/** A trajectory of the last step is discarded as well. */
function trainedAndDiscarded(): RunFacts {
  const { trajectory_id, group_id, attempt } = stepsIn(good).at(-1)!.trajectories[0]!;
  return changed('TrajectoryDiscarded', () => ({ trajectory_id, group_id, attempt, reason: 'stale' }));
}

const HASH = 'f'.repeat(64);

describe('the oracle for an external trainer', () => {
  it('finds nothing wrong with a log that the coordinator wrote', () => {
    const verdict = judgeRun(good);
    expect(verdict.problems).toEqual([]);
    expect(verdict.leases).toEqual({
      granted: verdict.steps + 2,
      committed: verdict.steps,
      open: 0,
      rewinds: 1,
      released: { returned: 1, fenced: 1 },
    });
    expect(verdict.discards['rewound']).toBeGreaterThan(0);
    expect(verdict.trained + verdict.discarded + verdict.open).toBe(verdict.admitted);
  });

  it.each<readonly [string, ProblemKind, () => RunFacts]>([
    ['a trajectory in two commits of a lineage', 'lineage', trainedTwice],
    ['a trajectory in two commits', 'doubled', trainedTwice],
    ['a trajectory that was trained on and discarded', 'doubled', trainedAndDiscarded],
    ['a lease without an end', 'lease', () => withEntries('BatchReleased', () => [])],
    ['a lease that is released twice', 'lease', () => withEntries('BatchReleased', (fact) => [fact, fact])],
    ['a lease that is committed after its release', 'lease', committedAfterRelease],
    ['a commit without a lease', 'lease', () => withEntries('BatchLeased', () => [])],
    ['a step that was not leased at all', 'lease', () => changed('StepCompleted', () => ({ batch_id: '' }), 3)],
    ['a lease that is granted twice', 'lease', () => withEntries('BatchLeased', (fact) => [fact, fact])],
    ['a reason that does not exist', 'lease', () => changed('BatchReleased', () => ({ reason: 'whim' }))],
    ['a hash of rows that is missing', 'lease', () => changed('BatchLeased', () => ({ batch_sha256: '' }))],
    ['a commit of other rows', 'lease', () => changed('StepCompleted', () => ({ batch_sha256: HASH }), 4)],
    [
      'a commit of fewer trajectories',
      'lease',
      () => changed('StepCompleted', ({ trajectories: all }) => ({ trajectories: all.slice(1) }), 4),
    ],
    ['a commit of more rows', 'lease', () => changed('StepCompleted', ({ trained_rows: rows }) => ({ trained_rows: rows + 1 }), 4)],
    ['a lease of an old epoch', 'lease', () => changed('BatchLeased', ({ epoch }) => ({ epoch: epoch - 1 }), 9)],
    ['an epoch that is skipped', 'lease', () => changed('TrainerClaimed', ({ epoch }) => ({ epoch: epoch + 1 }), 2)],
    ['a claim that keeps what nobody prepared', 'lease', () => changed('TrainerClaimed', () => ({ prepared: '' }), 4)],
    ['a commit based on another entry', 'lineage', () => changed('StepCompleted', () => ({ lineage: HASH }), 4)],
    ['a rewind to a version that the run does not come from', 'lineage', () => changed('RunRewound', () => ({ to_version: 99 }))],
    ['a rewind that abandons less', 'lineage', () => changed('RunRewound', ({ abandoned }) => ({ abandoned: abandoned.slice(1) }))],
    ['a rewind that counts less', 'lineage', () => changed('RunRewound', ({ trajectories: all }) => ({ trajectories: all - 1 }))],
    ['a rewind to other weights', 'lineage', () => changed('RunRewound', () => ({ weights_sha256: HASH }))],
    ['a group discarded as rewound that was not', 'discard', notRewound],
    ['a version that is missing', 'version', () => withEntries('StepCompleted', () => [], 5)],
    ['weights that were not committed', 'version', () => ({ ...good, policies: good.policies.map(otherWeights) })],
    ['weights that were not published', 'version', () => ({ ...good, policies: good.policies.slice(1) })],
  ])('finds %s', (_what, kind, broken) => {
    expect(Object.keys(judgeRun(broken()).found)).toContain(kind);
  });
});

/** The batch that was returned is committed later: the step names it instead of the one that took its place. */
function committedAfterRelease(): RunFacts {
  const released = good.training.flatMap(({ read }) => (read.type === 'BatchReleased' ? [read.event] : []))[0]!;
  const nth = stepsIn(good).findIndex(({ step }) => step === released.step) + 1;
  return changed('StepCompleted', () => ({ batch_id: released.batch_id }), nth);
}

/** As if the rewind had abandoned nothing. */
function notRewound(): RunFacts {
  return changed('RunRewound', ({ version }) => ({ to_version: version - 1, abandoned: [], trajectories: 0 }));
}

const otherWeights = (fact: LogFact, i: number): LogFact =>
  i === 2 ? edit<'PolicyPublished'>(fact, (event) => ({ ...event, sha256: HASH })) : fact;
