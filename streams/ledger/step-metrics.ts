// The meaning of a step's metrics. Entries before StepCompleted v3 store the token-weighted figures under the names that now stand for
// figures over trajectories; such entries have a staleness_token_mean of -1.
import type { StepCompleted, StepMetrics } from '../../schemas/generated/events.ts';

const NOT_SAID = -1;

const saysTokens = ({ staleness_token_mean: said }: Pick<StepMetrics, 'staleness_token_mean'>): boolean => said !== NOT_SAID;

/** The metrics with their current meaning. For an older entry, staleness_p95 and staleness_max remain those of its tokens. */
export function metricsOf({ metrics, trajectories }: Pick<StepCompleted, 'metrics' | 'trajectories'>): StepMetrics {
  if (saysTokens(metrics)) return metrics;
  const total = trajectories.reduce((sum, { staleness_total }) => sum + staleness_total, 0);
  return {
    ...metrics,
    staleness_mean: trajectories.length === 0 ? 0 : total / trajectories.length,
    staleness_token_mean: metrics.staleness_mean,
    staleness_token_p95: metrics.staleness_p95,
    staleness_token_max: metrics.staleness_max,
  };
}

/** The inverse: metrics in the form of an entry of the same version as `recorded`. */
export function saidLike(recorded: StepMetrics, metrics: StepMetrics): StepMetrics {
  if (saysTokens(recorded)) return metrics;
  const { staleness_token_mean: mean, staleness_token_p95: p95, staleness_token_max: max } = metrics;
  const tokens = { staleness_mean: mean, staleness_p95: p95, staleness_max: max };
  return { ...metrics, ...tokens, staleness_token_mean: NOT_SAID, staleness_token_p95: NOT_SAID, staleness_token_max: NOT_SAID };
}
