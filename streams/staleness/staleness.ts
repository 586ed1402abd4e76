// The staleness account of one trajectory. Step t trains version t-1 into t. For a trajectory: v_i is the version behind token i, S the
// version at its first turn, E the version at its last.

/** Consecutive tokens of a trajectory and the version behind them. */
export interface VersionSpan {
  /** -1 = unknown. */
  readonly version: number;
  readonly tokens: number;
}

export interface Staleness {
  readonly versionFirst: number;
  readonly versionLast: number;
  /** (t-1) - S */
  readonly total: number;
  /** min(total, max(0, E - S)): the rollout was slow. */
  readonly inFlight: number;
  /** total - in_flight: the trainer was slow. */
  readonly inQueue: number;
  /** (t-1) - min v */
  readonly worst: number;
  /** (t-1) - max v */
  readonly best: number;
  /** max v - min v + 1; 0 when no version is known. */
  readonly span: number;
  readonly tokenMean: number;
  readonly tokenP95: number;
  readonly tokenMax: number;
  /** Tokens whose version is missing or from the future: counted separately, never as zero. */
  readonly unknownTokens: number;
}

/** Token counts by age, over any number of trajectories. */
export type TokenAges = Map<number, number>;

/**
 * The account of one trajectory at version t-1 = `version`. A version that is missing or greater than `version` is unknown: its tokens
 * count only in unknownTokens. With no known version, every figure but unknownTokens is 0 and the versions are -1.
 */
export function stalenessOf(spans: readonly VersionSpan[], version: number, ages?: TokenAges): Staleness {
  const own: TokenAges = new Map();
  const known = spans.filter((span) => isKnown(span.version, version));
  const unknownTokens = sumTokens(spans) - sumTokens(known);
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return { ...NOTHING_KNOWN, unknownTokens };
  let [min, max] = [first.version, first.version];
  for (const span of known) {
    min = Math.min(min, span.version);
    max = Math.max(max, span.version);
    addAge(own, version - span.version, weightOf(span));
  }
  if (ages !== undefined) for (const [age, tokens] of own) addAge(ages, age, tokens);
  const total = version - first.version;
  const inFlight = Math.min(total, Math.max(0, last.version - first.version));
  const summary = summariseAges(own);
  return {
    versionFirst: first.version,
    versionLast: last.version,
    total,
    inFlight,
    inQueue: total - inFlight,
    worst: version - min,
    best: version - max,
    span: max - min + 1,
    tokenMean: summary.mean,
    tokenP95: summary.p95,
    tokenMax: summary.max,
    unknownTokens,
  };
}

const isKnown = (v: number, version: number): boolean => Number.isInteger(v) && v >= 0 && v <= version;

const weightOf = ({ tokens }: VersionSpan): number => (Number.isFinite(tokens) && tokens > 0 ? tokens : 0);

/** Share of the tokens whose version is unknown, 0 to 1. */
export function unknownShare(spans: readonly VersionSpan[], version: number): number {
  const tokens = sumTokens(spans);
  return tokens === 0 ? 0 : stalenessOf(spans, version).unknownTokens / tokens;
}

const sumTokens = (spans: readonly VersionSpan[]): number => spans.reduce((sum, span) => sum + weightOf(span), 0);

function addAge(ages: TokenAges, age: number, tokens: number): void {
  if (tokens > 0) ages.set(age, (ages.get(age) ?? 0) + tokens);
}

const NOTHING_KNOWN: Staleness = {
  versionFirst: -1,
  versionLast: -1,
  total: 0,
  inFlight: 0,
  inQueue: 0,
  worst: 0,
  best: 0,
  span: 0,
  tokenMean: 0,
  tokenP95: 0,
  tokenMax: 0,
  unknownTokens: 0,
};

/** Token-weighted mean, 95th percentile (nearest rank) and true maximum of token ages; zeros without tokens. */
export function summariseAges(ages: TokenAges): { readonly mean: number; readonly p95: number; readonly max: number } {
  const sorted = [...ages].sort(([a], [b]) => a - b);
  const tokens = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (tokens === 0) return { mean: 0, p95: 0, max: 0 };
  const mean = sorted.reduce((sum, [age, count]) => sum + age * count, 0) / tokens;
  let below = 0;
  const p95 = sorted.find(([, count]) => (below += count) >= 0.95 * tokens)?.[0] ?? 0;
  return { mean, p95, max: sorted.at(-1)?.[0] ?? 0 };
}
