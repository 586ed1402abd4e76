// Admission (the unit is a group). Every term is folded from the log, so the bound is as right after a restart as
// before it.

export interface AdmissionTerms {
  readonly maxConcurrent: number;
  readonly maxStaleness: number;
  readonly batchGroups: number;
  /** Newest version. */
  readonly version: number;
  /** Groups admitted and not yet ready. */
  readonly running: number;
  /** Groups trained or ready; discarded groups give their place back. */
  readonly accepted: number;
  /** Groups that may run for each that may still be accepted; 1 unless given. */
  readonly oversample?: number;
}

/**
 * min(max_concurrent - running, (max_staleness + version + 1) * batch_groups - (accepted + running)), never below 0.
 * With oversampling more run than may be accepted: those that are not needed any more are discarded.
 */
export function capacityOf(terms: AdmissionTerms): number {
  const concurrency = terms.maxConcurrent - terms.running;
  const wanted = (terms.maxStaleness + terms.version + 1) * terms.batchGroups - terms.accepted;
  const staleness = Math.ceil(Math.max(0, wanted) * (terms.oversample ?? 1)) - terms.running;
  return Math.max(0, Math.min(concurrency, staleness));
}
