// What a ledger records about training, without what always differs between two runs: ids of events and runs, clocks, offsets, and hashes
// over them. A trajectory is named by the index of its group in the order of admission and by its sample. Steps are kept as digests by
// field, so that an outline takes about a kilobyte per step and 100 bytes per discard.
import { createHash } from 'node:crypto';
import type { RunStarted, StepCompleted, TrajectoryDiscarded } from '../../schemas/generated/events.ts';
import { groupIdOf } from '../core/ids.ts';
import type { LedgerEntry } from './chain.ts';
import { metricsOf } from './step-metrics.ts';

type EntryValues = Readonly<Record<string, unknown>>;

/** Fields of a step that are compared; batch_sha256 is not, because it covers the ids of the trajectories. */
export const stepFields = [
  'trajectories',
  'attempts',
  'rewards',
  'advantages',
  'lengths',
  'staleness',
  'totals',
  'metrics',
  'weights',
  'optimizer',
] as const;
export type StepField = (typeof stepFields)[number];

export interface StepOutline {
  readonly step: number;
  /** Position of its entry in the training topic. */
  readonly partition: number;
  readonly offset: number;
  readonly digests: Readonly<Record<StepField, string>>;
}

export interface AdmissionOutline {
  readonly questionId: string;
  readonly samples: number;
  /** Version at which it was admitted; gives the order, and is not compared. */
  readonly version: number;
}

export interface DiscardOutline {
  readonly what: Readonly<Record<string, string | number>>;
  /** Version at which it was discarded; gives the order, and is not compared. */
  readonly version: number;
}

export interface LedgerOutline {
  /** By name; those of the learner are `learner.…`. */
  readonly settings: Readonly<Record<string, string>>;
  readonly admissions: readonly AdmissionOutline[];
  readonly steps: readonly StepOutline[];
  /** By trajectory and attempt. */
  readonly discards: ReadonlyMap<string, DiscardOutline>;
}

/** One value of a step, and where it belongs. */
export interface StepValue {
  readonly field: StepField;
  /** Name within the field. */
  readonly name: string;
  /** Name of the trajectory, such as `g17.3`; empty for values of the step. */
  readonly trajectory: string;
  readonly value: string;
}

export interface Outliner {
  /** Entries in the order of the log. */
  entry(entry: LedgerEntry, at: { readonly partition: number; readonly offset: number }): void;
  /** Every compared value of a step whose groups were admitted in the entries so far. */
  valuesOf(step: StepCompleted): readonly StepValue[];
  outline(): LedgerOutline;
}

const OWN: ReadonlySet<string> = new Set([
  ...['event_id', 'run_id', 'occurred_at', 'producer', 'sequence', 'previous_sha256', 'resume'],
  ...['batch_sha256', 'wait_ms', 'train_ms', 'flight_ms', 'queue_ms', 'group_id', 'trajectory_id'],
  ...['batch_id', 'skipped', 'lineage', 'report', 'report_sha256'],
]);

const fieldOfTrajectory: Readonly<Record<string, StepField>> = {
  question_id: 'trajectories',
  attempt: 'attempts',
  reward: 'rewards',
  advantage: 'advantages',
  tokens: 'lengths',
  turns: 'lengths',
};
const fieldOfStep: Readonly<Record<string, StepField>> = { weights_sha256: 'weights', optimizer_sha256: 'optimizer' };

const DISCARD = ['question_id', 'reason', 'reward', 'tokens', 'turns'] as const;

/** Zeros are equal, whatever their sign. */
const textOf = (value: unknown): string => (value === 0 ? '0' : String(value));

export function createOutliner(): Outliner {
  const places = new Map<string, number>();
  const admissions: AdmissionOutline[] = [];
  const steps: StepOutline[] = [];
  const discards = new Map<string, DiscardOutline>();
  let settings: Readonly<Record<string, string>> = {};

  /** `g<place>.<sample>`; the id itself when the ledger admitted no such group. */
  function placeOf(trajectoryId: string): string {
    const groupId = groupIdOf(trajectoryId);
    const place = places.get(groupId);
    return place === undefined ? trajectoryId : `g${place}${trajectoryId.slice(groupId.length)}`;
  }

  function valuesOf(step: StepCompleted): readonly StepValue[] {
    const { trajectories, metrics: _, ...rest } = step;
    return [
      ...trajectories.flatMap((one) => ofTrajectory(placeOf(one.trajectory_id), { ...one })),
      ...named({ ...metricsOf(step) }, () => 'metrics'),
      ...named({ ...rest }, (name) => fieldOfStep[name] ?? 'totals'),
    ];
  }

  function discard(event: TrajectoryDiscarded): void {
    const what = Object.fromEntries(DISCARD.map((name) => [name, event[name]]));
    discards.set(`${placeOf(event.trajectory_id)}/${event.attempt}`, { what, version: event.version });
  }

  return {
    entry(entry, at) {
      if (entry.type === 'RunStarted') settings = settingsOf(entry.event);
      if (entry.type === 'TrajectoryDiscarded') discard(entry.event);
      if (entry.type === 'StepCompleted') steps.push({ step: entry.event.step, ...at, digests: digestsOf(valuesOf(entry.event)) });
      if (entry.type !== 'GroupsAdmitted') return;
      for (const { group_id: id, question_id: questionId, samples } of entry.event.groups) {
        if (!places.has(id)) places.set(id, admissions.length);
        admissions.push({ questionId, samples, version: entry.event.version });
      }
    },
    valuesOf,
    outline: () => ({ settings, admissions, steps, discards }),
  };
}

const ofTrajectory = (trajectory: string, values: EntryValues): readonly StepValue[] =>
  named(values, (name) => fieldOfTrajectory[name] ?? 'staleness').map((value) => ({ ...value, trajectory }));

const named = (values: EntryValues, fieldOf: (name: string) => StepField): readonly StepValue[] =>
  Object.entries(values)
    .filter(([name]) => !OWN.has(name))
    .map(([name, value]) => ({ field: fieldOf(name), name, trajectory: '', value: textOf(value) }));

function digestsOf(values: readonly StepValue[]): Readonly<Record<StepField, string>> {
  const hashes = new Map(stepFields.map((field) => [field, createHash('sha256')]));
  for (const { field, name, trajectory, value } of values) hashes.get(field)?.update(`${trajectory}\n${name}\n${value}\n`);
  return Object.fromEntries([...hashes].map(([field, hash]) => [field, hash.digest('base64').slice(0, 24)])) as Record<StepField, string>;
}

function settingsOf({ learner, settings, ...rest }: RunStarted): Readonly<Record<string, string>> {
  const own = Object.entries(rest).filter(([name]) => !OWN.has(name));
  return Object.fromEntries([
    ...own.map(([name, value]) => [name, textOf(value)] as const),
    ...flat('learner', parse(learner)),
    ...flat('settings', parse(settings)),
  ]);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The leaves of a JSON value by their path. */
function flat(path: string, value: unknown): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) return [[path, textOf(value)]];
  return Object.entries(value).flatMap(([name, inner]) => flat(`${path}.${name}`, inner));
}
