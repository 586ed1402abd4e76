// The settings of a run, and what happens if it is resumed with different ones. Settings of the trainer are recorded in RunStarted; a
// resumed run continues with the recorded ones and says so. Workers get them with each request. Settings of the workers are not part of
// requests, so a run cannot be resumed with different ones.
import type { RunStarted } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { rewardNamesOf } from '../../streams/run/reward-names.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';

/** Settings of the workers that affect learning, by name. */
export type WorkerSettings = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Settings without a field of their own in RunStarted. */
const REQUESTED = ['reward', 'maxTurns', 'maxTokens', 'maxWallMs', 'oversample', 'maxUnknown', 'rewardNames'] as const;

const SHARED = [
  ...(['seed', 'algorithm', 'dataset', 'groupSize', 'batchGroups', 'maxStaleness', 'maxConcurrent', 'maxAttempts', 'stalePolicy'] as const),
  ...REQUESTED,
] as const;

/** The value of `settings` in RunStarted. */
export const settingsRecord = (settings: RunSettings, workers: WorkerSettings | undefined): string =>
  JSON.stringify({ requests: Object.fromEntries(REQUESTED.map((name) => [name, settings[name]])), workers });

/** Recorded settings take precedence over those of this process, except for the number of steps; `planned` is the number in the ledger. */
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

/** Names of settings that differ from those at the start of the run. */
export const differences = (own: RunSettings, used: RunSettings): readonly string[] => SHARED.filter((name) => own[name] !== used[name]);

/** Settings of the workers at the start of the run; undefined if its first entry has none. */
export function recordedWorkerSettings(recorded: Pick<RunStarted, 'settings'>): Readonly<Record<string, unknown>> | undefined {
  const { workers } = recordOf(recorded);
  return isObject(workers) ? workers : undefined;
}

/**
 * Addresses are recorded for evaluations and not compared: a server may move, and machines may reach it at different ones. The hash of a
 * module is compared if both sides know it: older releases did not record it, and a trainer may run where the module is not.
 */
function isCompared(name: string, sides: readonly Readonly<Record<string, unknown>>[]): boolean {
  if (name.endsWith('Url')) return false;
  return !name.endsWith('_sha256') || sides.every((settings) => settings[name] !== undefined);
}

/** Throws RUN_CONFLICT if these settings of the workers differ from those at the start of the run. */
export function assertWorkerSettings(own: WorkerSettings | undefined, recorded: Pick<RunStarted, 'run_id' | 'settings'>): void {
  const started = recordedWorkerSettings(recorded);
  if (own === undefined || started === undefined) return;
  const text = (value: unknown): string => (value === undefined ? 'unset' : JSON.stringify(value));
  const differing = [...new Set([...Object.keys(started), ...Object.keys(own)])]
    .filter((name) => isCompared(name, [own, started]) && text(own[name]) !== text(started[name]))
    .map((name) => `${name} is ${text(own[name])}, the run was started with ${text(started[name])}`);
  if (differing.length === 0) return;
  throw new PlatformError(
    'RUN_CONFLICT',
    `resuming run ${recorded.run_id}: ${differing.join('; ')}; use the settings that it was started with, or start another run`,
  );
}

/** The recorded values of the settings in REQUESTED, without the names of rewards. */
function requestedOf(own: RunSettings, recorded: RunStarted): Partial<RunSettings> {
  const { requests } = recordOf(recorded);
  if (!isObject(requests)) return {};
  const known = REQUESTED.filter((name) => name !== 'rewardNames' && typeof requests[name] === typeof own[name]);
  return Object.fromEntries(known.map((name) => [name, requests[name]]));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Empty for entries from releases that did not record settings. */
function recordOf({ settings }: Pick<RunStarted, 'settings'>): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(settings);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
