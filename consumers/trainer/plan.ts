// What to do now, decided from the folded state and a clock reading; carried out by committing events.
import { capacityOf, type AdmissionTerms } from '../../streams/admission/admission.ts';
import { isOutdated, select, type BatchRules, type BatchSelection } from '../../streams/batch/batch.ts';
import { finishedOf, type Group } from '../../streams/group/group.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import { spansOf } from '../../streams/trajectory/attempt.ts';
import type { Expiry } from './liveness.ts';
import type { RunSettings } from './settings.ts';

export interface TrainingPlan {
  readonly selection: BatchSelection;
  readonly terms: AdmissionTerms;
  /** Groups to admit. */
  readonly admit: number;
  readonly expiries: readonly Expiry[];
  /** True when a commit would change anything. */
  readonly any: boolean;
}

export interface PlanInputs {
  readonly settings: RunSettings;
  /** Groups that are being trained on: they count as accepted. */
  readonly training: readonly Group[];
  readonly expiries: readonly Expiry[];
  /** Version after the commit that carries the plan out. */
  readonly version: number;
  /** False once the run has all the batches that it needs. */
  readonly admitting: boolean;
  /** The trainer does not make the policy: groups are kept for others, and the clock is that of the model. */
  readonly collecting?: boolean;
}

/** The newest version that is known: what the ledger says, or what a finished trajectory names. */
function clockOf(decided: readonly Group[], version: number): number {
  const named = decided.flatMap((group) => finishedOf(group).flatMap(({ attempt }) => spansOf(attempt).map((span) => span.version)));
  return named.reduce((newest, one) => Math.max(newest, one), version);
}

/** Groups that are still to be asked for: nobody trains on them meanwhile, so there is no version to wait for. */
function collectable({ steps, batchGroups }: RunSettings, terms: AdmissionTerms): number {
  const wanted = steps === 0 ? Infinity : steps * batchGroups;
  return Math.max(0, Math.min(terms.maxConcurrent - terms.running, wanted - terms.accepted - terms.running));
}

const rulesOf = (settings: RunSettings, version: number): BatchRules => ({
  version,
  algorithm: settings.algorithm,
  batchGroups: settings.batchGroups,
  maxStaleness: settings.maxStaleness,
  stalePolicy: settings.stalePolicy,
  maxUnknown: settings.maxUnknown,
});

/** The batch that a step from `version` would train on; undefined while there is no whole one. */
export function nextBatch(state: RunState, inputs: Pick<PlanInputs, 'settings' | 'training' | 'version'>): readonly Group[] | undefined {
  const { settings, training, version } = inputs;
  const decided = [...state.decided].flatMap((id) => state.groups.get(id) ?? []);
  const { batch } = select(decided, rulesOf(settings, version), new Set(training.map(({ id }) => id)));
  return batch.length < settings.batchGroups ? undefined : batch;
}

export function planNow(state: RunState, inputs: PlanInputs): TrainingPlan {
  const { settings, training, expiries, collecting = false } = inputs;
  const busy = new Set(training.map((group) => group.id));
  const decided = [...state.decided].flatMap((id) => state.groups.get(id) ?? []);
  const version = collecting ? clockOf(decided, inputs.version) : inputs.version;
  const rules = rulesOf(settings, version);
  // only oversampling leaves any behind, and looking for them costs a look at every open group
  const oversamples = (settings.oversample ?? 1) > 1;
  const outdated = oversamples
    ? [...state.groups.values()].filter((group) => !state.decided.has(group.id) && isOutdated(group, rules))
    : [];
  const selected = select(decided, rules, busy);
  const left = outdated.map((group) => ({ group, reason: 'stale' as const }));
  const selection = { ...selected, discards: [...selected.discards, ...left] };
  const { trainedGroups, collectedGroups } = state.counters;
  const terms: AdmissionTerms = {
    maxConcurrent: settings.maxConcurrent,
    maxStaleness: settings.maxStaleness,
    batchGroups: settings.batchGroups,
    version,
    running: state.groups.size - decided.length - outdated.length,
    ...(settings.oversample === undefined ? {} : { oversample: settings.oversample }),
    accepted: trainedGroups + collectedGroups + training.length + selection.ready,
  };
  const room = collecting ? collectable(settings, terms) : capacityOf(terms);
  const admit = inputs.admitting ? room : 0;
  return { selection, terms, admit, expiries, any: admit > 0 || selection.discards.length > 0 || expiries.length > 0 };
}
