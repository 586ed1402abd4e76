import { describe, expect, it } from 'vitest';
import { finished, requested, started } from '../../infra/testing/rollout-events.ts';
import { foldRollout, foldTask } from '../../streams/run/fold.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { createLiveness, FINAL, type Liveness } from './liveness.ts';

const SILENCE_MS = 1_000;
const place = { partition: 0, offset: 5 };

function claimed(): { readonly state: RunState; readonly liveness: Liveness } {
  const state = newRunState('run-a');
  foldTask(state, requested({ trajectory: 'g.0' }), place);
  const liveness = createLiveness({ silenceMs: SILENCE_MS });
  liveness.live(0);
  liveness.claimed(new Map([[0, 6]]));
  return { state, liveness };
}

const told = (liveness: Liveness, state: RunState, nowMs: number) => liveness.expired(state, nowMs).map(({ reason }) => reason);

describe('a claim that was lost', () => {
  it('is given up after the silence, and as often as it is asked', () => {
    const { state, liveness } = claimed();
    expect(told(liveness, state, 0)).toEqual([]);
    expect(told(liveness, state, SILENCE_MS)).toEqual([]);
    expect(told(liveness, state, SILENCE_MS + 1)).toEqual(['lost_claim']);
    expect(told(liveness, state, SILENCE_MS + 2)).toEqual(['lost_claim']);
  });

  it('is none while nobody has claimed it, or once it was begun', () => {
    const { state, liveness } = claimed();
    liveness.claimed(new Map([[0, 5]]));
    expect(told(liveness, state, 0)).toEqual([]);
    expect(told(liveness, state, SILENCE_MS + 1)).toEqual([]);
    liveness.claimed(new Map([[0, 6]]));
    expect(told(liveness, state, SILENCE_MS + 2)).toEqual([]);
    foldRollout(state, { type: 'TrajectoryStarted', event: started({ trajectory: 'g.0' }) }, place);
    liveness.heard('w-0', 2 * SILENCE_MS);
    expect(told(liveness, state, 2 * SILENCE_MS + 5)).toEqual([]);
  });

  it('of the next attempt has a silence of its own', () => {
    const { state, liveness } = claimed();
    told(liveness, state, 0);
    expect(told(liveness, state, SILENCE_MS + 1)).toEqual(['lost_claim']);
    foldTask(state, requested({ trajectory: 'g.0', attempt: 1 }), { partition: 0, offset: 6 });
    liveness.claimed(new Map([[0, 7]]));
    expect(told(liveness, state, SILENCE_MS + 2)).toEqual([]);
    expect(told(liveness, state, 2 * SILENCE_MS + 3)).toEqual(['lost_claim']);
  });
});

describe('an attempt that ended badly', () => {
  it.each([
    ['failed', 'unusable'],
    ['cancelled', 'unusable'],
    ['refused', 'refused'],
  ] as const)('as %s is given up at once, as %s', (status, reason) => {
    const { state, liveness } = claimed();
    const event = finished({ trajectory: 'g.0', sequence: 1 }, 0, { status });
    foldRollout(state, { type: 'TrajectoryStarted', event: started({ trajectory: 'g.0' }) }, place);
    foldRollout(state, { type: 'TrajectoryFinished', event }, place);
    expect(told(liveness, state, 0)).toEqual([reason]);
    expect(FINAL.has(reason)).toBe(status === 'refused');
  });
});
