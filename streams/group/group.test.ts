import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finished, requested, started, turn } from '../../infra/testing/rollout-events.ts';
import { foldFinished, foldStarted, foldTurn, type Attempt } from '../trajectory/attempt.ts';
import { attemptOf, finishedOf, foldRequest, isResolved, newGroup, noteEnding, noteExhausted, notePlace, type Group } from './group.ts';

const place = { partition: 0, offset: 7 };

function groupOf(...samples: readonly number[]): Group {
  const group = newGroup(requested({ trajectory: 'g.0' }, { group_size: samples.length }));
  for (const sample of samples) foldRequest(group, requested({ trajectory: `g.${sample}` }), place);
  return group;
}

const trajectoryOf = (group: Group, sample: number) => group.trajectories.get(`g.${sample}`)!;

/** Folds a complete attempt and returns it. */
function end(group: Group, sample: number, number: number): Attempt {
  const at = (sequence: number) => ({ trajectory: `g.${sample}`, attempt: number, sequence });
  const attempt = attemptOf(trajectoryOf(group, sample), number)!;
  foldStarted(attempt, started(at(0)));
  foldTurn(attempt, turn(at(1), 0));
  foldFinished(attempt, finished(at(2), 1));
  noteEnding(group, trajectoryOf(group, sample), attempt);
  return attempt;
}

describe('a group', () => {
  it('is resolved when each requested trajectory has an outcome, in any order', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4, maxLength: 4 }),
        fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
        (order, given) => {
          const group = groupOf(0, 1, 2, 3);
          order.forEach((sample, i) => {
            expect(isResolved(group)).toBe(false);
            if (given[i] === true) noteExhausted(group, trajectoryOf(group, sample));
            else end(group, sample, 0);
          });
          expect(isResolved(group)).toBe(true);
          expect(finishedOf(group).map(({ trajectory }) => trajectory.sample)).toEqual(
            order.filter((_, i) => given[i] !== true).sort((a, b) => a - b),
          );
        },
      ),
    );
  });

  it('is not resolved before all of its trajectories were requested', () => {
    const group = newGroup(requested({ trajectory: 'g.0' }, { group_size: 2 }));
    foldRequest(group, requested({ trajectory: 'g.0' }), place);
    end(group, 0, 0);
    expect(isResolved(group)).toBe(false);
  });

  it('counts the first attempt that finished, and a late finish of one that was given up', () => {
    const group = groupOf(0, 1);
    const first = end(group, 0, 1);
    end(group, 0, 0);
    noteExhausted(group, trajectoryOf(group, 1));
    noteExhausted(group, trajectoryOf(group, 1));
    expect(group.resolved).toBe(2);
    const late = end(group, 1, 0);
    expect(group.resolved).toBe(2);
    expect(finishedOf(group).map(({ attempt }) => attempt)).toEqual([first, late]);
  });

  it('keeps the newest request, and the position of each request once', () => {
    const group = groupOf(0, 1);
    const again = requested({ trajectory: 'g.0', attempt: 1 });
    foldRequest(group, again, { partition: 0, offset: 9 });
    foldRequest(group, again, { partition: 0, offset: 9 });
    foldRequest(group, requested({ trajectory: 'g.0' }), { partition: 0, offset: 7 });
    expect(trajectoryOf(group, 0)).toMatchObject({ request: { attempt: 1 }, requestOffset: 9 });
    expect(group.tasks.map(({ offset }) => offset)).toEqual([7, 7, 9]);
  });

  it('has no attempt with an invalid number', () => {
    for (const number of [-1, 0.5, NaN, Infinity]) expect(attemptOf(trajectoryOf(groupOf(0), 0), number)).toBeUndefined();
  });

  it('knows the lowest offset of its records in each partition', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ partition: fc.nat(2), offset: fc.nat(50) }), { minLength: 1 }), (places) => {
        const group = groupOf(0);
        for (const one of places) notePlace(group, one);
        const lowest = new Map<number, number>();
        for (const { partition, offset } of places) lowest.set(partition, Math.min(offset, lowest.get(partition) ?? offset));
        expect(group.firstOffsets).toEqual(lowest);
      }),
    );
  });
});
