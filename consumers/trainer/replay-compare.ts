// Compares a rebuilt step with its ledger entry, field by field. Skips only clock-dependent fields: how long the step waited and trained,
// and how long its trajectories were queued.
import type { StepCompleted, StepMetrics } from '../../schemas/generated/events.ts';
import type { UpdateMetrics } from '../../streams/core/learning.ts';
import { saidLike } from '../../streams/ledger/step-metrics.ts';
import type { PreparedBatch } from './commit-parts.ts';
import type { WeightsOfRun } from './replay-ledger.ts';
import { stepMetrics, trainedFields } from '../../streams/trainer/entries.ts';

export interface ReplayDifference {
  /** A field of StepCompleted, or another mismatch. */
  readonly field: string;
  /** Trajectory id; empty for a field of the step. */
  readonly trajectory: string;
  readonly recorded: string;
  readonly rebuilt: string;
}

export interface ReplayComparison {
  /** Number of compared values. */
  readonly compared: number;
  readonly differences: readonly ReplayDifference[];
}

type FieldValues = Readonly<Record<string, unknown>>;

const CLOCK: ReadonlySet<string> = new Set(['queue_ms']);
const UPDATE = ['loss', 'approx_kl', 'behave_kl', 'clip_fraction', 'capped_fraction', 'ess', 'entropy', 'grad_norm'] as const;

/** The metrics of the update alone. */
export const updateOf = (metrics: StepMetrics): UpdateMetrics =>
  Object.fromEntries(UPDATE.map((name) => [name, metrics[name]])) as unknown as UpdateMetrics;

/** Zeros are equal regardless of sign, and NaN equals NaN. */
const same = (a: unknown, b: unknown): boolean => a === b || Object.is(a, b);

/** Compares recorded values with the rebuilt ones of the same names. */
export function compareValues(recorded: FieldValues, rebuilt: FieldValues, trajectory = ''): ReplayComparison {
  const names = Object.keys(rebuilt).filter((name) => !CLOCK.has(name));
  const differing = names.filter((name) => !same(recorded[name], rebuilt[name]));
  return {
    compared: names.length,
    differences: differing.map((name) => ({
      field: name,
      trajectory,
      recorded: String(recorded[name]),
      rebuilt: String(rebuilt[name]),
    })),
  };
}

export const together = (parts: readonly ReplayComparison[]): ReplayComparison => ({
  compared: parts.reduce((sum, { compared }) => sum + compared, 0),
  differences: parts.flatMap(({ differences }) => differences),
});

/** Compares a rebuilt batch with its step. `why` explains missing trajectories. */
export function compareBatch(event: StepCompleted, batch: PreparedBatch, why = ''): ReplayComparison {
  const rebuilt = new Map(batch.trajectories.map((one) => [one.trajectoryId, one]));
  const sum = (of: (one: PreparedBatch['trajectories'][number]) => number): number =>
    batch.trajectories.reduce((total, one) => total + of(one), 0);
  const totals = {
    groups: batch.groups.length,
    tokens: sum(({ attempt }) => attempt.tokens),
    unknown_tokens: sum(({ staleness }) => staleness.unknownTokens),
    order: batch.trajectories.map(({ trajectoryId }) => trajectoryId).join(' '),
    batch_sha256: batch.sha256,
  };
  const metrics = stepMetrics(batch.trajectories, batch.ages, updateOf(event.metrics));
  const recorded = { ...event, order: event.trajectories.map(({ trajectory_id: id }) => id).join(' ') };
  return together([
    ...event.trajectories.map((one) => {
      const found = rebuilt.get(one.trajectory_id);
      if (found === undefined) return absent(one.trajectory_id, why);
      return compareValues({ ...one }, { ...trainedFields(found, batch.beganMs) }, one.trajectory_id);
    }),
    compareValues({ ...event.metrics }, { ...saidLike(event.metrics, metrics) }),
    compareValues(recorded, totals),
  ]);
}

/** Compares the step of an external trainer with what was published of its version. Weights may come later than their step, or never. */
export function compareWeights(event: StepCompleted, { published, namedLater }: WeightsOfRun): ReplayComparison {
  if (event.batch_id === '') return { compared: 0, differences: [] };
  const weights = namedLater.get(event.version_after) ?? event.weights_sha256;
  const found = published.get(event.version_after);
  if (found === undefined) return compareValues({ weights_sha256: weights }, { weights_sha256: '' });
  const recorded = { weights_sha256: weights === '' ? found.sha256 : weights, parent: event.version_before };
  return compareValues(recorded, { weights_sha256: found.sha256, parent: found.parent });
}

const absent = (trajectory: string, why: string): ReplayComparison => ({
  compared: 1,
  differences: [{ field: 'trajectory', trajectory, recorded: 'trained on', rebuilt: `the log has no finished attempt of it${why}` }],
});
