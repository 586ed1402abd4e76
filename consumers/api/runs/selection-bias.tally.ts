// Computes selection-bias figures from value counts (how often each value occurs), not from the values. Counts of disjoint ranges can be
// added.
import type { RowOf } from '../columns.ts';
import type { biasFigureColumns, biasReasonColumns } from './selection-bias.columns.ts';
import type { CountedFigure, OutcomesOfSteps, OutcomeSums } from './outcomes.fold.ts';
import { metrics } from './selection-bias.sql.ts';

type Metric = (typeof metrics)[number];

export interface RangeFigures {
  /** Over all steps of the range, not only the page; null when the range is empty. */
  readonly overall: RowOf<typeof biasFigureColumns> | null;
  /** The same by reason; an empty reason marks the trajectories that were trained on. */
  readonly by_reason: readonly RowOf<typeof biasReasonColumns>[];
}

type ValueCounts = ReadonlyMap<number, number>;
type MutableCounts = Record<Metric, Map<number, number>>;
type Figures = Readonly<Record<string, number | null>>;

const KEPT = '';
const isMetric = (figure: CountedFigure): figure is Metric => (metrics as readonly string[]).includes(figure);

export class BiasTally {
  readonly #reason: string | undefined;
  readonly #counts = new Map<string, MutableCounts>();
  readonly #sums = new Map<string, Omit<OutcomeSums, 'reason'>>();

  /** Compares only discards with this reason, if one is given. */
  constructor(reason?: string) {
    this.#reason = reason;
  }

  /** Adds the outcomes of further steps; add each step once. */
  add({ counts, sums }: OutcomesOfSteps): void {
    for (const { figure, reason, values, counts: numbers } of counts) {
      if (!this.#isAsked(reason) || !isMetric(figure)) continue;
      const side: MutableCounts = this.#counts.get(reason) ?? { reward: new Map(), turns: new Map(), tokens: new Map() };
      this.#counts.set(reason, side);
      values.forEach((value, at) => side[figure].set(value, (side[figure].get(value) ?? 0) + (numbers[at] ?? 0)));
    }
    for (const { reason, n, staleness, flight_ms } of sums) {
      if (!this.#isAsked(reason)) continue;
      const before = this.#sums.get(reason) ?? { n: 0, staleness: 0, flight_ms: 0 };
      this.#sums.set(reason, { n: before.n + n, staleness: before.staleness + staleness, flight_ms: before.flight_ms + flight_ms });
    }
  }

  #isAsked(reason: string): boolean {
    return reason === KEPT || this.#reason === undefined || reason === this.#reason;
  }

  figures(): RangeFigures {
    const reasons = [...this.#sums.keys()].filter((reason) => reason !== KEPT).sort();
    const [kept, lost] = [this.#side([KEPT]), this.#side(reasons)];
    if (kept.n + lost.n === 0) return { overall: null, by_reason: [] };
    const none = { reward_ks: null, turns_ks: null, tokens_ks: null };
    const row = (reason: string, side: BiasSide, distances: Figures): RangeFigures['by_reason'][number] =>
      ({ ...{ reason, trajectories: side.n }, ...figuresOf(side, ''), ...distances }) as RangeFigures['by_reason'][number];
    const ofReason = (reason: string): RangeFigures['by_reason'][number] => {
      const side = this.#side([reason]);
      return row(reason, side, kept.n === 0 ? none : distancesOf(kept, side));
    };
    return {
      overall: {
        ...{ kept: kept.n, ...figuresOf(kept, 'kept_') },
        ...{ discarded: lost.n, ...figuresOf(lost, 'discarded_') },
        ...(kept.n === 0 || lost.n === 0 ? none : distancesOf(kept, lost)),
      } as RangeFigures['overall'],
      by_reason: [...(kept.n === 0 ? [] : [row(KEPT, kept, none)]), ...reasons.map(ofReason)],
    };
  }

  #side(reasons: readonly string[]): BiasSide {
    const sums = reasons.flatMap((reason) => this.#sums.get(reason) ?? []);
    const total = (of: (one: Omit<OutcomeSums, 'reason'>) => number): number => sums.reduce((sum, one) => sum + of(one), 0);
    const counts = (metric: Metric): ValueCounts => {
      const found = new Map<number, number>();
      for (const reason of reasons)
        for (const [value, n] of this.#counts.get(reason)?.[metric] ?? []) found.set(value, (found.get(value) ?? 0) + n);
      return found;
    };
    return {
      ...{ n: total(({ n }) => n), staleness: total(({ staleness }) => staleness), flight_ms: total(({ flight_ms }) => flight_ms) },
      ...{ reward: counts('reward'), turns: counts('turns'), tokens: counts('tokens') },
    };
  }
}

/** Everything kept, everything discarded, or everything discarded for one reason. */
interface BiasSide extends Readonly<Record<Metric, ValueCounts>> {
  readonly n: number;
  readonly staleness: number;
  readonly flight_ms: number;
}

const sorted = (counts: ValueCounts): readonly (readonly [value: number, n: number])[] => [...counts].sort(([a], [b]) => a - b);

function figuresOf(side: BiasSide, prefix: string): Figures {
  const mean = (sum: number): number | null => (side.n === 0 ? null : sum / side.n);
  const figures = metrics.flatMap((metric) => {
    const values = sorted(side[metric]);
    return [
      [`${metric}_mean`, mean(values.reduce((sum, [value, n]) => sum + value * n, 0))],
      [`${metric}_p50`, quantileOf(values, { level: 0.5, n: side.n })],
      [`${metric}_p95`, quantileOf(values, { level: 0.95, n: side.n })],
    ] as const;
  });
  const means = [['staleness_mean', mean(side.staleness)] as const, ['flight_ms_mean', mean(side.flight_ms)] as const];
  return Object.fromEntries([...figures, ...means].map(([name, value]) => [`${prefix}${name}`, value]));
}

/** Interpolates between the two nearest ranks, like quantileExactInclusive. */
function quantileOf(values: readonly (readonly [number, number])[], { level, n }: { level: number; n: number }): number | null {
  if (n === 0) return null;
  const rank = level * (n - 1);
  const at = (index: number): number => {
    let seen = 0;
    for (const [value, count] of values) {
      seen += count;
      if (index < seen) return value;
    }
    return values.at(-1)?.[0] ?? 0;
  };
  const [low, high] = [at(Math.floor(rank)), at(Math.ceil(rank))];
  return low + (high - low) * (rank - Math.floor(rank));
}

const distancesOf = (kept: BiasSide, lost: BiasSide): Figures =>
  Object.fromEntries(metrics.map((metric) => [`${metric}_ks`, distanceOf(kept[metric], lost[metric])]));

/** Kolmogorov-Smirnov distance: the largest gap between the two cumulative distributions. */
function distanceOf(some: ValueCounts, others: ValueCounts): number {
  const total = (counts: ValueCounts): number => [...counts.values()].reduce((sum, n) => sum + n, 0);
  const [all, allOthers] = [total(some), total(others)];
  const values = [...new Set([...some.keys(), ...others.keys()])].sort((a, b) => a - b);
  let [below, belowOthers, largest] = [0, 0, 0];
  for (const value of values) {
    below += some.get(value) ?? 0;
    belowOthers += others.get(value) ?? 0;
    largest = Math.max(largest, Math.abs(below / all - belowOthers / allOthers));
  }
  return largest;
}
