import { describe, expect, it } from 'vitest';
import { finished, requested, started } from '../../infra/testing/rollout-events.ts';
import { foldRollout, foldTask } from '../run/fold.ts';
import { newRunState, type RunState } from '../run/run-state.ts';
import { incarnationId } from '../trajectory/worker-id.ts';
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

/** The worker's clock is far from the trainer's. */
const CLOCK_MS = 1_000_000;
const sign = (nowMs: number) => ({ nowMs, timestampMs: CLOCK_MS + nowMs });
const worker = (name: string, startedMs: number): string => incarnationId({ place: name, number: CLOCK_MS + startedMs });

const told = (liveness: Liveness, state: RunState, nowMs: number) => liveness.expired(state, nowMs).map(({ reason }) => reason);

describe('a claim that was lost', () => {
  it('is given up after the silence, at every check', () => {
    const { state, liveness } = claimed();
    expect(told(liveness, state, 0)).toEqual([]);
    expect(told(liveness, state, SILENCE_MS)).toEqual([]);
    expect(told(liveness, state, SILENCE_MS + 1)).toEqual(['lost_claim']);
    expect(told(liveness, state, SILENCE_MS + 2)).toEqual(['lost_claim']);
  });

  it('is not reported before the task is claimed, or once its attempt has started', () => {
    const { state, liveness } = claimed();
    liveness.claimed(new Map([[0, 5]]));
    expect(told(liveness, state, 0)).toEqual([]);
    expect(told(liveness, state, SILENCE_MS + 1)).toEqual([]);
    liveness.claimed(new Map([[0, 6]]));
    expect(told(liveness, state, SILENCE_MS + 2)).toEqual([]);
    foldRollout(state, { type: 'TrajectoryStarted', event: started({ trajectory: 'g.0' }) }, place);
    liveness.heard('w-0', sign(2 * SILENCE_MS));
    expect(told(liveness, state, 2 * SILENCE_MS + 5)).toEqual([]);
  });

  it('of the next attempt has its own deadline', () => {
    const { state, liveness } = claimed();
    told(liveness, state, 0);
    expect(told(liveness, state, SILENCE_MS + 1)).toEqual(['lost_claim']);
    foldTask(state, requested({ trajectory: 'g.0', attempt: 1 }), { partition: 0, offset: 6 });
    liveness.claimed(new Map([[0, 7]]));
    expect(told(liveness, state, SILENCE_MS + 2)).toEqual([]);
    expect(told(liveness, state, 2 * SILENCE_MS + 3)).toEqual(['lost_claim']);
  });
});

describe('an attempt whose worker was replaced', () => {
  function running(workerId: string): { readonly state: RunState; readonly liveness: Liveness } {
    const { state } = claimed();
    foldRollout(state, { type: 'TrajectoryStarted', event: { ...started({ trajectory: 'g.0' }), worker_id: workerId } }, place);
    const liveness = createLiveness({ silenceMs: 20_000 });
    liveness.live(0);
    return { state, liveness };
  }

  it('is given up soon after the newer one in its place was heard', () => {
    const { state, liveness } = running(worker('worker-1', 0));
    liveness.heard(worker('worker-1', 90), sign(100));
    expect(told(liveness, state, 1_100)).toEqual([]);
    expect(told(liveness, state, 1_101)).toEqual(['silent']);
  });

  it('goes on while the older one is heard', () => {
    const { state, liveness } = running(worker('worker-1', 0));
    liveness.heard(worker('worker-1', 90), sign(100));
    liveness.heard(worker('worker-1', 0), sign(200));
    expect(told(liveness, state, 5_000)).toEqual([]);
    expect(told(liveness, state, 20_201)).toEqual(['silent']);
  });

  it.each([worker('worker-2', 90), 'worker-1', worker('worker-1', -1)])('goes on while only %s is heard', (other) => {
    const { state, liveness } = running(worker('worker-1', 0));
    liveness.heard(other, sign(100));
    expect(told(liveness, state, 19_000)).toEqual([]);
  });

  it('has a new deadline when the trainer could not hear meanwhile', () => {
    const { state, liveness } = running(worker('worker-1', 0));
    liveness.heard(worker('worker-1', 90), sign(100));
    liveness.live(3_000);
    expect(told(liveness, state, 5_000)).toEqual([]);
  });
});

describe('an attempt with an unusable end', () => {
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

describe('an attempt that its worker no longer lists', () => {
  const WORKER = 'w-0';
  const listing = (nowMs: number, ...running: readonly string[]) => ({ ...sign(nowMs), running: new Set(running) });

  function running(): { readonly state: RunState; readonly liveness: Liveness } {
    const { state, liveness } = claimed();
    foldRollout(state, { type: 'TrajectoryStarted', event: { ...started({ trajectory: 'g.0' }), worker_id: WORKER } }, place);
    liveness.heard(WORKER, sign(0));
    expect(told(liveness, state, 0)).toEqual([]);
    return { state, liveness };
  }

  it('is given up after the silence, although its worker is heard', () => {
    const { state, liveness } = running();
    liveness.heard(WORKER, listing(100, 'g.0/0'));
    expect(told(liveness, state, 100)).toEqual([]);
    for (const nowMs of [500, 900, 1_100]) liveness.heard(WORKER, listing(nowMs, 'g.1/0', 'g.0/1'));
    expect(told(liveness, state, 100 + SILENCE_MS)).toEqual([]);
    expect(told(liveness, state, 101 + SILENCE_MS)).toEqual(['silent']);
    expect(told(liveness, state, 101 + SILENCE_MS)).toEqual(['silent']);
  });

  it('goes on while it is listed', () => {
    const { state, liveness } = running();
    for (let nowMs = 500; nowMs < 10 * SILENCE_MS; nowMs += 500) {
      liveness.heard(WORKER, listing(nowMs, 'g.0/0'));
      expect(told(liveness, state, nowMs)).toEqual([]);
    }
  });

  it('goes on after a single heartbeat that may be older than it', () => {
    const { state, liveness } = running();
    liveness.heard(WORKER, listing(500));
    liveness.heard(WORKER, sign(1_500));
    expect(told(liveness, state, 2_000)).toEqual([]);
    liveness.heard(WORKER, listing(2_100, 'g.0/0'));
    expect(told(liveness, state, 2_200)).toEqual([]);
    liveness.heard(WORKER, listing(2_900));
    expect(told(liveness, state, 3_500)).toEqual([]);
  });

  it('has a new deadline when the trainer could not hear meanwhile', () => {
    const { state, liveness } = running();
    for (const nowMs of [400, 800]) liveness.heard(WORKER, listing(nowMs));
    liveness.live(900);
    for (const nowMs of [1_000, 1_400, 1_800]) liveness.heard(WORKER, listing(nowMs));
    expect(told(liveness, state, 900 + SILENCE_MS)).toEqual([]);
    expect(told(liveness, state, 901 + SILENCE_MS)).toEqual(['silent']);
  });

  it('goes on if its worker sends no heartbeats, as those of other programs may not', () => {
    const { state, liveness } = running();
    for (let nowMs = 500; nowMs < 5_000; nowMs += 500) {
      liveness.heard(WORKER, sign(nowMs));
      expect(told(liveness, state, nowMs)).toEqual([]);
    }
  });
});
