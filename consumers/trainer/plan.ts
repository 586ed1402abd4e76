// What to do now, decided from the folded state and a clock reading; carried out by committing events.
import { capacityOf, type AdmissionTerms } from '../../streams/admission/admission.ts';
import { isOutdated, select, type BatchRules, type Selection } from '../../streams/batch/batch.ts';
import type { Group } from '../../streams/group/group.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import type { Expiry } from './liveness.ts';
import type { RunSettings } from './settings.ts';

export interface Plan {
  readonly selection: Selection;
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
}

const rulesOf = (settings: RunSettings, version: number): BatchRules => ({
  version,
  algorithm: settings.algorithm,
  batchGroups: settings.batchGroups,
  maxStaleness: settings.maxStaleness,
  stalePolicy: settings.stalePolicy,
});

export function planNow(state: RunState, inputs: PlanInputs): Plan {
  const { settings, training, expiries, version } = inputs;
  const busy = new Set(training.map((group) => group.id));
  const decided = [...state.decided].flatMap((id) => state.groups.get(id) ?? []);
  const rules = rulesOf(settings, version);
  // only oversampling leaves any behind, and looking for them costs a look at every open group
  const oversamples = (settings.oversample ?? 1) > 1;
  const outdated = oversamples
    ? [...state.groups.values()].filter((group) => !state.decided.has(group.id) && isOutdated(group, rules))
    : [];
  const settled = select(decided, rules, busy);
  const left = outdated.map((group) => ({ group, reason: 'stale' as const }));
  const selection = { ...settled, discards: [...settled.discards, ...left] };
  const terms: AdmissionTerms = {
    maxConcurrent: settings.maxConcurrent,
    maxStaleness: settings.maxStaleness,
    batchGroups: settings.batchGroups,
    version,
    running: state.groups.size - decided.length - outdated.length,
    ...(settings.oversample === undefined ? {} : { oversample: settings.oversample }),
    accepted: state.counters.trainedGroups + training.length + selection.ready,
  };
  const admit = inputs.admitting ? capacityOf(terms) : 0;
  return { selection, terms, admit, expiries, any: admit > 0 || selection.discards.length > 0 || expiries.length > 0 };
}
