/** What can be wrong with a run. */
export type ProblemKind =
  /** Admitted and neither trained on, nor discarded, nor open. */
  | 'lost'
  /** In two steps, discarded twice, or both; or an attempt with two outcomes. */
  | 'doubled'
  /** Settled and never admitted. */
  | 'stranger'
  /** Passed over by younger groups. */
  | 'order'
  /** Open for longer than any deadline can explain. */
  | 'stuck'
  /** A version is missing, comes twice or has other weights than the ledger says. */
  | 'version'
  /** A step differs from what the records say. */
  | 'step'
  /** A discard differs from what the records say. */
  | 'discard'
  /** The bound on staleness was broken. */
  | 'staleness'
  /** The bound on admission was broken, or its terms are not those of the log. */
  | 'admission'
  /** A request is missing, comes twice, or was not decided in the ledger. */
  | 'request'
  /** An attempt was run by two workers, or by nobody's request. */
  | 'attempt'
  /** The chain of the ledger is broken. */
  | 'chain'
  /** A resume point passes over what an open group needs, or counts wrongly. */
  | 'resume'
  /** An attempt was given up that went on, and whose worker was not struck. */
  | 'needless';

export interface Problem {
  readonly kind: ProblemKind;
  readonly text: string;
}

/** Makes problems of one kind. */
export const problemsOf = (kind: ProblemKind, texts: readonly string[]): readonly Problem[] => texts.map((text) => ({ kind, text }));
