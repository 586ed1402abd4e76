// The shape of synthetic trajectories: figures observed in ASearcher's rollouts, as settings.
import { logNormal, medianOf } from './distributions.ts';
import type { Random } from '../../streams/core/random.ts';

export interface LoadShape {
  readonly groupSize: number;
  /** Mean of the log-normal number of turns, before the cut at maxTurns. */
  readonly meanTurns: number;
  /** Standard deviation of its logarithm: 0 makes every trajectory as long as the mean. */
  readonly turnsSigma: number;
  readonly maxTurns: number;
  /** Most generated tokens of a trajectory. */
  readonly maxTokens: number;
  /** Encoded size of a turn without Kafka headers, bytes; the ids alone take about 300. */
  readonly turnBytes: number;
  /** Share of turns and attempts with a fault. */
  readonly faults: number;
  readonly maxAttempts: number;
  /** Time between two policy versions, ms. */
  readonly versionMs: number;
  /** Version at the start, and the newest version of the load. */
  readonly firstVersion: number;
  readonly lastVersion: number;
  /** Features of a decision of the built-in policy; null for none, as with a language model. */
  readonly decision: { readonly candidates: number; readonly width: number } | null;
}

/** 6-8 turns on average with a tail to 128, and a new version every 20 s, so that most trajectories see two or three versions. */
export const defaultShape: LoadShape = {
  groupSize: 8,
  meanTurns: 7.5,
  turnsSigma: 0.9,
  maxTurns: 128,
  maxTokens: 200_000,
  turnBytes: 2_000,
  faults: 0.01,
  maxAttempts: 3,
  versionMs: 20_000,
  firstVersion: 0,
  lastVersion: 2 ** 31 - 1,
  decision: null,
};

/** The most turns that a trajectory of a load may have. */
export const MOST_TURNS = 1_000_000;
/** Low enough that the prompt tokens do not overflow their field. */
const MOST_TOKENS = 1_000_000_000;

/**
 * Limits for trajectories with this mean. If the mean exceeds the default turn limit, the turn limit has the default ratio to the mean. The
 * token limit grows with the turn limit.
 */
export function lengthOf(
  meanTurns: number,
  maxTurns = meanTurns <= defaultShape.maxTurns
    ? defaultShape.maxTurns
    : Math.ceil((meanTurns / defaultShape.meanTurns) * defaultShape.maxTurns),
): Pick<LoadShape, 'meanTurns' | 'maxTurns' | 'maxTokens'> {
  const limit = Math.min(maxTurns, MOST_TURNS);
  const grown = Math.max(1, limit / defaultShape.maxTurns);
  return { meanTurns, maxTurns: limit, maxTokens: Math.min(MOST_TOKENS, Math.ceil(defaultShape.maxTokens * grown)) };
}

/**
 * How an attempt goes: to its end; cancelled or failed by its worker; lost with its worker, so that its last records are missing; or torn,
 * with a record missing in the middle.
 */
type SyntheticFate = 'whole' | 'cancelled' | 'failed' | 'lost' | 'torn';

export interface AttemptPlan {
  /** Turns that the agent takes unless it runs out of tokens. */
  readonly turns: number;
  /** True when the number of turns was cut at the limit. */
  readonly cut: boolean;
  /** Recorded turns: all of them, or those before the fault. */
  readonly recorded: number;
  readonly fate: SyntheticFate;
  /** Median number of generated tokens per turn. */
  readonly verbosity: number;
}

const MEDIAN_TOKENS = 300;
const VERBOSITY_SIGMA = 0.7;
const BROKEN: readonly SyntheticFate[] = ['cancelled', 'cancelled', 'failed', 'lost', 'torn'];

/** Draws how an attempt goes. */
export function planAttempt(random: Random, shape: LoadShape): AttemptPlan {
  const wanted = Math.max(1, Math.round(logNormal(random, medianOf(shape.meanTurns, shape.turnsSigma), shape.turnsSigma)));
  const turns = Math.min(wanted, shape.maxTurns);
  const broken = random() < shape.faults;
  const fate = broken ? (BROKEN[Math.floor(random() * BROKEN.length)] ?? 'cancelled') : 'whole';
  return {
    turns,
    cut: wanted > shape.maxTurns,
    recorded: fate === 'whole' || fate === 'torn' ? turns : Math.floor(random() * turns),
    fate,
    verbosity: logNormal(random, MEDIAN_TOKENS, VERBOSITY_SIGMA),
  };
}
