// The port of a question writer: the edits it can make to a draft, and how a draft is judged. The rounds, the order of the gates and the
// report are the same for every writer (walk.ts, synthesize.ts). A writer that cannot continue throws: its walk ends, and the results so
// far are kept.
import type { Evidence } from '../../../schemas/generated/events.ts';

/** A question in the making. `state` is private to the writer. */
export interface Draft<S> {
  readonly state: S;
  readonly question: string;
  readonly answers: readonly string[];
  /** Alternative forms of the answer; by default none. */
  readonly augAnswers?: readonly string[];
  readonly split: 'train' | 'heldout';
}

/** What an edit did. */
export interface Edited<S> {
  readonly draft: Draft<S>;
  /** Human-readable: which fact was added, or which detail was blurred. */
  readonly detail: string;
}

export interface GateVerdict {
  readonly passed: boolean;
  readonly detail: string;
}

/** An answer that was given without any tool. */
export interface DirectAnswer {
  readonly answer: string;
  readonly right: boolean;
  /** Why the answer cannot be judged; the draft is then rejected. */
  readonly unjudged?: string;
}

/** Remaining rounds of a walk. */
export interface RoundsLeft {
  readonly inject: number;
  readonly fuzz: number;
}

export interface InjectOptions {
  /** Uniform in [0, 1); the only source of randomness. */
  readonly random: () => number;
  /** Remaining injections, including this one. */
  readonly left: number;
  readonly signal: AbortSignal;
}

export type FuzzOptions = Omit<InjectOptions, 'left'>;

/** Gate names of one draft, in evaluation order. */
export type GateName =
  | 'well_formed'
  | 'timely'
  | 'new_information'
  | 'every_clause_needed'
  | 'unique_answer'
  | 'split_disjoint'
  | 'difficulty'
  | 'not_a_duplicate';

export interface QuestionWriter<S> {
  readonly name: string;
  /** At most `count` seed questions, in an order that the seed determines. */
  seeds(count: number, seed: number): AsyncIterable<Draft<S>> | Iterable<Draft<S>>;
  /** The kind of the next round, when both kinds are left; random if this is missing or returns undefined. */
  choose?(draft: Draft<S>, options: FuzzOptions & { readonly left: RoundsLeft }): Promise<'inject' | 'fuzz' | undefined>;
  /** Adds a fact about an entity; undefined when there is none to add. */
  inject(draft: Draft<S>, options: InjectOptions): Promise<Edited<S> | undefined>;
  /** Blurs a detail; undefined when there is none to blur. */
  fuzz(draft: Draft<S>, options: FuzzOptions): Promise<Edited<S> | undefined>;
  /** False while the draft is not a question of its own: a name still stands for a description, or it is too close to the seed. */
  isComplete(draft: Draft<S>): boolean;
  wellFormed(draft: Draft<S>, signal: AbortSignal): Promise<GateVerdict>;
  timely(draft: Draft<S>, signal: AbortSignal): Promise<GateVerdict>;
  /** Whether the draft adds information to the previous one. */
  newInformation(draft: Draft<S>, before: Draft<S>, signal: AbortSignal): Promise<GateVerdict>;
  /** Whether every part of the draft is needed: without any one of them, several answers remain. */
  everyClauseNeeded(draft: Draft<S>, signal: AbortSignal): Promise<GateVerdict>;
  splitDisjoint(draft: Draft<S>): Promise<GateVerdict>;
  /** Closed-book answers, each with its verdict. */
  answerDirectly(draft: Draft<S>, options: FuzzOptions & { readonly samples: number }): Promise<readonly DirectAnswer[]>;
  /** Whether exactly one answer is correct and none of the wrong ones is. */
  unique(draft: Draft<S>, wrong: readonly string[], signal: AbortSignal): Promise<GateVerdict>;
  /** The facts that lead to the answer, in order. */
  evidence(draft: Draft<S>): readonly Evidence[];
  /** Kind of the question, for grouping; a short slug. */
  kind(draft: Draft<S>): string;
  /** Number of lookups that lead to the answer, none of which can be skipped. */
  hops(draft: Draft<S>): number;
  /** Number of statements in the draft, each of which is needed. */
  clauses(draft: Draft<S>): number;
}
