/** Kinds of problems that a run can have. */
export type ProblemKind =
  /** Admitted, but neither trained on, discarded nor open. */
  | 'lost'
  /** In two steps, discarded twice, or both; or an attempt with two outcomes. */
  | 'doubled'
  /** Closed but never admitted. */
  | 'stranger'
  /** Younger groups were trained on first. */
  | 'order'
  /** Open for longer than any deadline can explain. */
  | 'stuck'
  /** A version is missing, is published twice, or has other weights than the ledger records. */
  | 'version'
  /** A step disagrees with the records. */
  | 'step'
  /** A discard disagrees with the records. */
  | 'discard'
  /** The staleness bound was violated. */
  | 'staleness'
  /** The admission bound was violated, or its terms disagree with the log. */
  | 'admission'
  /** A request is missing, is repeated, or was not decided in the ledger. */
  | 'request'
  /** An attempt was run by two workers, or without a request. */
  | 'attempt'
  /** The chain of the ledger is broken. */
  | 'chain'
  /** A lease ended twice or never began, or a commit differs from its lease. */
  | 'lease'
  /** A version does not come from the one that it names, or a trajectory was trained on twice on the way to it. */
  | 'lineage'
  /** A resume point skips what an open group needs, or its counts are wrong. */
  | 'resume'
  /** An attempt was given up while it was running and its worker was not hit. */
  | 'needless';

export interface TortureProblem {
  readonly kind: ProblemKind;
  readonly text: string;
}

/** Creates problems of one kind. */
export const problemsOf = (kind: ProblemKind, texts: readonly string[]): readonly TortureProblem[] => texts.map((text) => ({ kind, text }));
