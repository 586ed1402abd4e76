// Admission control, in groups. Every term is folded from the log, so the bound is the same after a restart.

export interface AdmissionTerms {
  readonly maxConcurrent: number;
  readonly maxStaleness: number;
  readonly batchGroups: number;
  /** Newest policy version. */
  readonly version: number;
  /** Groups that are admitted but not yet ready. */
  readonly running: number;
  /** Groups that are trained or ready; a discarded group frees its slot. */
  readonly accepted: number;
  /** How many groups may run for each one that may still be accepted; 1 by default. */
  readonly oversample?: number;
}

/**
 * min(max_concurrent - running, (max_staleness + version + 1) * batch_groups - (accepted + running)), never below 0. With oversampling,
 * more groups run than can be accepted; the surplus is discarded.
 */
export function capacityOf(terms: AdmissionTerms): number {
  const concurrency = terms.maxConcurrent - terms.running;
  const wanted = (terms.maxStaleness + terms.version + 1) * terms.batchGroups - terms.accepted;
  const staleness = Math.ceil(Math.max(0, wanted) * (terms.oversample ?? 1)) - terms.running;
  return Math.max(0, Math.min(concurrency, staleness));
}
