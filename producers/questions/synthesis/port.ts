// The port of a question writer: what it can do to a draft, and how a draft is judged. The rounds, the order of the gates
// and the account are the same for every writer (walk.ts, synthesize.ts). A writer that cannot go on at all throws: its
// walk ends, and what was made before is kept.
import type { Evidence } from '../../../schemas/generated/events.ts';

/** A question in the making. `state` is the writer's own. */
export interface Draft<S> {
  readonly state: S;
  readonly question: string;
  readonly answers: readonly string[];
  /** Other ways to write the answer; none unless given. */
  readonly augAnswers?: readonly string[];
  readonly split: 'train' | 'heldout';
}

/** What an edit did. */
export interface Edited<S> {
  readonly draft: Draft<S>;
  /** For people: which fact went in, or which detail was blurred. */
  readonly detail: string;
}

export interface Verdict {
  readonly passed: boolean;
  readonly detail: string;
}

/** An answer that was given without any tool. */
export interface DirectAnswer {
  readonly answer: string;
  readonly right: boolean;
  /** Why nobody can tell whether it is right; the draft is refused then. */
  readonly unjudged?: string;
}

/** Rounds that a walk has left. */
export interface RoundsLeft {
  readonly inject: number;
  readonly fuzz: number;
}

export interface InjectOptions {
  /** Uniform in [0, 1); every choice takes from it. */
  readonly random: () => number;
  /** Injections that are left, this one included. */
  readonly left: number;
  readonly signal: AbortSignal;
}

export type FuzzOptions = Omit<InjectOptions, 'left'>;

/** Name of a gate of one draft, in the order in which they are asked. */
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
  /** Seed questions in an order that the seed decides, at most `count`. */
  seeds(count: number, seed: number): AsyncIterable<Draft<S>> | Iterable<Draft<S>>;
  /** Which kind of round comes next, where both are left; chance decides without it, and when it is undefined. */
  choose?(draft: Draft<S>, options: FuzzOptions & { readonly left: RoundsLeft }): Promise<'inject' | 'fuzz' | undefined>;
  /** Puts a fact about an entity in; undefined when there is none to put in. */
  inject(draft: Draft<S>, options: InjectOptions): Promise<Edited<S> | undefined>;
  /** Blurs a detail; undefined when there is none to blur. */
  fuzz(draft: Draft<S>, options: FuzzOptions): Promise<Edited<S> | undefined>;
  /** False while it is no question of its own: something in it only served to make it, or it is still the seed. */
  isComplete(draft: Draft<S>): boolean;
  wellFormed(draft: Draft<S>, signal: AbortSignal): Promise<Verdict>;
  timely(draft: Draft<S>, signal: AbortSignal): Promise<Verdict>;
  /** Whether the draft says something that the one before did not. */
  newInformation(draft: Draft<S>, before: Draft<S>, signal: AbortSignal): Promise<Verdict>;
  /** Whether no part of what the draft says can be left out: without it, several answers are left. */
  everyClauseNeeded(draft: Draft<S>, signal: AbortSignal): Promise<Verdict>;
  splitDisjoint(draft: Draft<S>): Promise<Verdict>;
  /** Answers without tools, each with its verdict. */
  answerDirectly(draft: Draft<S>, options: FuzzOptions & { readonly samples: number }): Promise<readonly DirectAnswer[]>;
  /** Whether one answer is right and none of the wrong ones is. */
  unique(draft: Draft<S>, wrong: readonly string[], signal: AbortSignal): Promise<Verdict>;
  /** The facts that lead to the answer, in order. */
  evidence(draft: Draft<S>): readonly Evidence[];
  /** What kind of question it became, for grouping; a short slug. */
  kind(draft: Draft<S>): string;
  /** Look-ups that lead to the answer, none of which can be skipped. */
  hops(draft: Draft<S>): number;
  /** Things that the draft says, each of which is needed. */
  clauses(draft: Draft<S>): number;
}
