import { describe, expect, it } from 'vitest';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import { metricsOf, saidLike } from './step-metrics.ts';

const event = randomEvent('StepCompleted', seeded(5));
const trajectory = { ...randomEvent('StepCompleted', seeded(6)).trajectories[0]! };
const trajectories = [1, 2, 6].map((staleness_total) => ({ ...trajectory, staleness_total }));
const notSaid = { staleness_token_mean: -1, staleness_token_p95: -1, staleness_token_max: -1 };
const old = { ...event.metrics, ...notSaid, staleness_mean: 2.5, staleness_p95: 5, staleness_max: 7 };

describe('the metrics of a step', () => {
  it('of a current entry are returned unchanged', () => {
    expect(metricsOf({ ...event, trajectories })).toBe(event.metrics);
    expect(saidLike(event.metrics, old)).toBe(old);
  });

  it('of an older entry have its token figures under their new names, and the mean over its trajectories', () => {
    expect(metricsOf({ metrics: old, trajectories })).toEqual({
      ...old,
      ...{ staleness_mean: 3, staleness_token_mean: 2.5, staleness_token_p95: 5, staleness_token_max: 7 },
    });
    expect(metricsOf({ metrics: old, trajectories: [] }).staleness_mean).toBe(0);
  });

  it('can be converted to the form of an older entry', () => {
    const now = { ...old, staleness_mean: 3, staleness_token_mean: 2.5, staleness_token_p95: 5, staleness_token_max: 7 };
    expect(saidLike(old, now)).toEqual(old);
  });
});
