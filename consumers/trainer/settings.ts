// What a run is started with, and what becomes of it when the run is resumed with other settings.
//
// Settings of the trainer are recorded in RunStarted; a resumed run goes on with what was recorded, and says so. They
// reach the workers in each request. Settings of the workers cannot be handed to them: a run is not resumed with others.
import type { RunStarted } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { rewardNamesOf } from '../../streams/run/reward-names.ts';

export interface RunSettings {
  readonly seed: number;
  readonly algorithm: string;
  readonly dataset: string;
  readonly groupSize: number;
  readonly batchGroups: number;
  readonly maxStaleness: number;
  readonly maxConcurrent: number;
  readonly maxAttempts: number;
  readonly stalePolicy: string;
  /** The run ends after this many steps; 0 = never by itself. */
  readonly steps: number;
  readonly reward: string;
  readonly maxTurns: number;
  readonly maxTokens: number;
  readonly maxWallMs: number;
  /** Groups asked for by each that a batch still needs; 1 unless given. Above 1 only with a staleness of 0. */
  readonly oversample?: number;
  /** Comma-separated names of the attached rewards that are waited for and trained on; left out = none. */
  readonly rewardNames?: string;
  /** How long a finished attempt waits for them, ms; for ever unless given. */
  readonly rewardTimeoutMs?: number;
  /** How long a worker may be silent, ms. */
  readonly silenceMs: number;
  /** Share of the groups that may be discarded before the run ends by itself, 0 to 1; 1 = it never does. */
  readonly maxDiscarded: number;
}

/** Settings of the workers that change what is learned, by their names. */
export type WorkerSettings = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Those that RunStarted has no field for. */
const REQUESTED = ['reward', 'maxTurns', 'maxTokens', 'maxWallMs', 'oversample', 'rewardNames'] as const;

const SHARED = [
  ...(['seed', 'algorithm', 'dataset', 'groupSize', 'batchGroups', 'maxStaleness', 'maxConcurrent', 'maxAttempts', 'stalePolicy'] as const),
  ...REQUESTED,
] as const;

/** The text of RunStarted's `settings`. */
export const settingsRecord = (settings: RunSettings, workers: WorkerSettings | undefined): string =>
  JSON.stringify({ requests: Object.fromEntries(REQUESTED.map((name) => [name, settings[name]])), workers });

/** Recorded settings win over those of this process, except how long to go on; `planned` is what the ledger says of that. */
export function settingsOf(own: RunSettings, recorded: RunStarted, planned = recorded.steps): RunSettings {
  const { rewardNames: _, ...rest } = own;
  const names = rewardNamesOf(recorded);
  return {
    ...rest,
    ...(names.length === 0 ? {} : { rewardNames: names.join() }),
    seed: recorded.seed,
    algorithm: recorded.algorithm,
    dataset: recorded.dataset,
    groupSize: recorded.group_size,
    batchGroups: recorded.batch_groups,
    maxStaleness: recorded.max_staleness,
    maxConcurrent: recorded.max_concurrent,
    maxAttempts: recorded.max_attempts,
    stalePolicy: recorded.stale_policy,
    steps: own.steps > 0 ? own.steps : planned,
    ...requestedOf(own, recorded),
  };
}

/** Names of settings in which this process differs from what the run was started with. */
export const differences = (own: RunSettings, used: RunSettings): readonly string[] => SHARED.filter((name) => own[name] !== used[name]);

/** Settings of the workers that a run was started with; undefined when its first entry tells of none. */
export function recordedWorkerSettings(recorded: Pick<RunStarted, 'settings'>): Readonly<Record<string, unknown>> | undefined {
  const { workers } = recordOf(recorded);
  return isObject(workers) ? workers : undefined;
}

/** Throws RUN_CONFLICT when workers with these settings are not those that the run was started with. */
export function assertWorkerSettings(own: WorkerSettings | undefined, recorded: Pick<RunStarted, 'run_id' | 'settings'>): void {
  const started = recordedWorkerSettings(recorded);
  if (own === undefined || started === undefined) return;
  const text = (value: unknown): string => (value === undefined ? 'unset' : JSON.stringify(value));
  const differing = [...new Set([...Object.keys(started), ...Object.keys(own)])]
    .filter((name) => text(own[name]) !== text(started[name]))
    .map((name) => `${name} is ${text(own[name])}, the run was started with ${text(started[name])}`);
  if (differing.length === 0) return;
  throw new PlatformError('RUN_CONFLICT', `resuming run ${recorded.run_id}: ${differing.join('; ')}`);
}

/** Those of them that were recorded. */
function requestedOf(own: RunSettings, recorded: RunStarted): Partial<RunSettings> {
  const { requests } = recordOf(recorded);
  if (!isObject(requests)) return {};
  const known = REQUESTED.filter((name) => name !== 'rewardNames' && typeof requests[name] === typeof own[name]);
  return Object.fromEntries(known.map((name) => [name, requests[name]]));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Nothing for entries of versions that recorded none. */
function recordOf({ settings }: Pick<RunStarted, 'settings'>): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(settings);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
