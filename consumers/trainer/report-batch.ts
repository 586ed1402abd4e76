// Reports a batch to users: status, metrics, and log.
import { batchStaleness, namedStaleness } from '../../streams/staleness/batch-staleness.ts';
import type { PreparedBatch } from './commit-parts.ts';
import { collects, type TrainerLife } from './deps.ts';

export function reportBatch(
  life: TrainerLife,
  { trajectories, ages, waitMs }: PreparedBatch,
  took: { readonly trainMs: number; readonly commitMs: number },
): void {
  const staleness = namedStaleness(batchStaleness(trajectories, ages));
  const mean = trajectories.reduce((sum, { reward }) => sum + reward, 0) / Math.max(1, trajectories.length);
  life.metrics.set('trainer_reward_mean', {}, mean);
  for (const [statistic, value] of Object.entries(staleness)) life.metrics.set('trainer_staleness', { statistic }, value);
  life.report({
    state: 'live',
    detail: life.notice,
    figures: {
      ...progressOf(life),
      reward_mean: mean,
      staleness_mean: staleness.mean,
      staleness_max: staleness.max,
      staleness_in_flight_mean: staleness.in_flight_mean,
      staleness_in_queue_mean: staleness.in_queue_mean,
      train_ms: took.trainMs,
      wait_ms: waitMs,
      commit_ms: took.commitMs,
    },
  });
}

/** `batches` is present only in a collected run, which makes no steps. */
export const progressOf = (life: TrainerLife) => {
  const { state, used } = life;
  return collects(life) ? { step: 0, steps: used.steps, batches: state.counters.batches } : { step: state.version, steps: used.steps };
};
