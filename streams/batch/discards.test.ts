import { describe, expect, it } from 'vitest';
import { finished, requested, started, turn } from '../../infra/testing/rollout-events.ts';
import type { Group } from '../group/group.ts';
import { foldRollout, foldTask } from '../run/fold.ts';
import { newRunState } from '../run/run-state.ts';
import { discardsOf } from './discards.ts';

const ids = ['g1.0', 'g1.1', 'g1.2', 'g1.3'] as const;
const at = { partition: 0, offset: 0, timestampMs: 1 };

interface AnsweredAttempt {
  readonly id: string;
  readonly attempt: number;
  /** Sequence number of the missing record. */
  readonly hole?: number;
  readonly status?: string;
  /** Difference between the count in the end record and the actual count. */
  readonly off?: number;
}

/** A group of four whose trajectories were requested `asked` times each, with these answers in this order. */
function groupWith(answers: readonly AnsweredAttempt[], asked = 2): Group {
  const state = newRunState('run-a');
  for (let attempt = 0; attempt < asked; attempt += 1)
    for (const id of ids) foldTask(state, requested({ trajectory: id, attempt }, { group_size: ids.length }), at);
  for (const { id: trajectory, attempt, hole, status = 'answered', off = 0 } of answers) {
    const place = (sequence: number) => ({ trajectory, attempt, sequence });
    const end = finished(place(2), attempt, { status, completion_tokens: 10 + off });
    if (hole !== 0) foldRollout(state, { type: 'TrajectoryStarted', event: started(place(0)) }, at);
    if (hole !== 1) foldRollout(state, { type: 'TurnRecorded', event: turn(place(1), 0) }, at);
    if (hole !== 2) foldRollout(state, { type: 'TrajectoryFinished', event: end }, at);
  }
  return state.groups.get('g1')!;
}

const told = (group: Group, trained: readonly string[] = []) =>
  discardsOf(group, { trained: new Set(trained), reason: 'stale' }).map(({ trajectory, number, reason }) => [
    trajectory.id,
    number,
    reason,
  ]);

describe('the discards of a group that closes', () => {
  it('have the reason of the group for each trajectory with an attempt that counts', () => {
    expect(told(groupWith(ids.map((id) => ({ id, attempt: 0 }))))).toEqual(ids.map((id) => [id, 0, 'stale']));
  });

  it('have only the other attempts of a trajectory that is trained on', () => {
    const group = groupWith([
      { id: 'g1.0', attempt: 1 },
      { id: 'g1.0', attempt: 0 },
      { id: 'g1.1', attempt: 0, hole: 1 },
      { id: 'g1.1', attempt: 1 },
      { id: 'g1.2', attempt: 0, off: 1 },
      { id: 'g1.2', attempt: 1 },
      { id: 'g1.3', attempt: 0, hole: 2 },
      { id: 'g1.3', attempt: 1 },
    ]);
    expect(told(group, ids)).toEqual([
      ['g1.0', 0, 'superseded'],
      ['g1.1', 0, 'invalid'],
      ['g1.2', 0, 'invalid'],
    ]);
  });

  it('distinguish a trajectory that was given up from attempts that cannot be used', () => {
    const group = groupWith([
      { id: 'g1.0', attempt: 0, status: 'failed' },
      { id: 'g1.0', attempt: 1, status: 'cancelled' },
      { id: 'g1.1', attempt: 0, status: 'cancelled' },
      { id: 'g1.2', attempt: 1, hole: 2 },
    ]);
    expect(told(group)).toEqual([
      ['g1.0', 0, 'invalid'],
      ['g1.0', 1, 'invalid'],
      ['g1.1', 0, 'invalid'],
      ['g1.1', 1, 'expired'],
      ['g1.2', 1, 'expired'],
      ['g1.3', 1, 'expired'],
    ]);
  });

  it('treat an attempt as complete once its gap is filled', () => {
    const group = groupWith([
      { id: 'g1.0', attempt: 0, hole: 0 },
      { id: 'g1.0', attempt: 1 },
      { id: 'g1.0', attempt: 0 },
    ]);
    expect(told(group, ids)).toEqual([['g1.0', 0, 'superseded']]);
  });
});
