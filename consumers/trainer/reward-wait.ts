// Decides for which rewards a run has waited long enough. Like the silence of workers (liveness.ts), the wait is measured in listening
// time and starts anew after a restart, so that no outage costs a reward. The decision is recorded as TrajectoryExpired.
import type { RunState } from '../../streams/run/run-state.ts';
import type { Expiry } from '../../streams/trainer/liveness.ts';

export interface RewardWait {
  /** Trajectories whose rewards have not come in time, judged at a time up to which the log has been folded. */
  expired(state: RunState, nowMs: number): readonly Expiry[];
}

export function createRewardWait(options: { readonly timeoutMs: number }): RewardWait {
  // covers only the last check: trajectories that were rewarded or closed meanwhile are no longer in it
  let since: ReadonlyMap<string, number> = new Map();

  function* waitingOf(state: RunState): Generator<Omit<Expiry, 'reason'>> {
    for (const group of state.groups.values()) {
      if (state.decided.has(group.id)) continue;
      for (const trajectory of group.trajectories.values()) {
        const { winner, settled, exhausted } = trajectory;
        if (winner !== undefined && !settled && !exhausted) yield { trajectory, attempt: winner };
      }
    }
  }

  return {
    expired(state, nowMs) {
      if (state.rewardNames.length === 0) return [];
      const waiting = new Map<string, number>();
      const expiries: Expiry[] = [];
      for (const { trajectory, attempt } of waitingOf(state)) {
        const finishedMs = since.get(trajectory.id) ?? nowMs;
        waiting.set(trajectory.id, finishedMs);
        if (nowMs - finishedMs > options.timeoutMs) expiries.push({ trajectory, attempt, reason: 'reward_timeout' });
      }
      since = waiting;
      return expiries;
    },
  };
}
