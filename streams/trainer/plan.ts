// What to do now, decided from the folded state and the attempts that have expired; carried out by committing events.
import { capacityOf, type AdmissionTerms } from '../admission/admission.ts';
import { isOutdated, select, type BatchRules, type BatchSelection } from '../batch/batch.ts';
import { finishedOf, type Group } from '../group/group.ts';
import { isAbandoned, type RunState } from '../run/run-state.ts';
import { spansOf } from '../trajectory/attempt.ts';
import type { Expiry } from './liveness.ts';
import type { RunSettings } from './run-settings.ts';

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
  /** True if the trainer does not train the policy and only collects groups; the newest version is then the newest that a trajectory names. */
  readonly collecting?: boolean;
}

/** The newest known version: that of the ledger, or the newest that a finished trajectory names. */
function clockOf(decided: readonly Group[], version: number): number {
  const named = decided.flatMap((group) => finishedOf(group).flatMap(({ attempt }) => spansOf(attempt).map((span) => span.version)));
  return named.reduce((newest, one) => Math.max(newest, one), version);
}

/** How many groups a collecting run may request now. They are not trained on, so staleness sets no limit. */
function collectable({ steps, batchGroups }: RunSettings, terms: AdmissionTerms): number {
  const wanted = steps === 0 ? Infinity : steps * batchGroups;
  return Math.max(0, Math.min(terms.maxConcurrent - terms.running, wanted - terms.accepted - terms.running));
}

const rulesOf = (settings: RunSettings, version: number, rewinds: RunState['rewinds']): BatchRules => ({
  version,
  ...(rewinds.length === 0 ? {} : { isAbandoned: (one) => isAbandoned(rewinds, one) }),
  algorithm: settings.algorithm,
  batchGroups: settings.batchGroups,
  maxStaleness: settings.maxStaleness,
  stalePolicy: settings.stalePolicy,
  maxUnknown: settings.maxUnknown,
});

/** The batch that a step from `version` would train on; undefined while it is incomplete. */
export function nextBatch(state: RunState, inputs: Pick<PlanInputs, 'settings' | 'training' | 'version'>): readonly Group[] | undefined {
  const { settings, training, version } = inputs;
  const busy = new Set(training.map(({ id }) => id));
  const decided = [...state.decided].flatMap((id) => (busy.has(id) ? [] : (state.groups.get(id) ?? [])));
  // judging a group takes longer than counting it, and this runs in every iteration of the loop
  if (decided.length < settings.batchGroups) return undefined;
  const { batch } = select(decided, rulesOf(settings, version, state.rewinds), busy);
  return batch.length < settings.batchGroups ? undefined : batch;
}

export function planNow(state: RunState, inputs: PlanInputs): TrainingPlan {
  const { settings, training, expiries, collecting = false } = inputs;
  const busy = new Set(training.map((group) => group.id));
  const decided = [...state.decided].flatMap((id) => state.groups.get(id) ?? []);
  const version = collecting ? clockOf(decided, inputs.version) : inputs.version;
  const rules = rulesOf(settings, version, state.rewinds);
  // only oversampling leaves outdated groups, and finding them reads every open group
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
    // a rewind used up a version without a batch
    accepted: trainedGroups + state.rewinds.length * settings.batchGroups + collectedGroups + training.length + selection.ready,
  };
  const room = collecting ? collectable(settings, terms) : capacityOf(terms);
  const admit = inputs.admitting ? room : 0;
  return { selection, terms, admit, expiries, any: admit > 0 || selection.discards.length > 0 || expiries.length > 0 };
}
