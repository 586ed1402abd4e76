// The staleness of a batch, computed in one place for the ledger, the metrics, the terminal and replays. A figure with `token` in its name
// is over the tokens of known version; every other figure is over trajectories, each counted once with its total. So mean = inFlightMean +
// inQueueMean, because total = in_flight + in_queue holds for each trajectory.
import { summariseAges, type Staleness, type TokenAges } from './staleness.ts';

export interface BatchStaleness {
  readonly mean: number;
  /** 95th percentile (nearest rank). */
  readonly p95: number;
  readonly max: number;
  readonly inFlightMean: number;
  readonly inQueueMean: number;
  readonly tokenMean: number;
  /** 95th percentile (nearest rank). */
  readonly tokenP95: number;
  readonly tokenMax: number;
}

type StalenessParts = Pick<Staleness, 'total' | 'inFlight' | 'inQueue'>;

/** `ages` covers all tokens of the trajectories. Zeros for an empty batch. */
export function batchStaleness(trajectories: readonly { readonly staleness: StalenessParts }[], ages: TokenAges): BatchStaleness {
  const totals = new Map<number, number>();
  for (const { total } of trajectories.map(({ staleness }) => staleness)) totals.set(total, (totals.get(total) ?? 0) + 1);
  const meanOf = (read: (account: StalenessParts) => number): number =>
    trajectories.length === 0 ? 0 : trajectories.reduce((sum, { staleness }) => sum + read(staleness), 0) / trajectories.length;
  const tokens = summariseAges(ages);
  return {
    ...summariseAges(totals),
    inFlightMean: meanOf(({ inFlight }) => inFlight),
    inQueueMean: meanOf(({ inQueue }) => inQueue),
    tokenMean: tokens.mean,
    tokenP95: tokens.p95,
    tokenMax: tokens.max,
  };
}

/** The figures under the names of their columns, metrics and event fields, without the `staleness_` prefix. */
export const namedStaleness = (staleness: BatchStaleness) => ({
  mean: staleness.mean,
  p95: staleness.p95,
  max: staleness.max,
  in_flight_mean: staleness.inFlightMean,
  in_queue_mean: staleness.inQueueMean,
  token_mean: staleness.tokenMean,
  token_p95: staleness.tokenP95,
  token_max: staleness.tokenMax,
});
