// The branches of an attempt: chains of turns whose prompts continue each other token by token. A new branch begins where a prompt does not
// start with all of its parent's prompt and completion, or another turn already continued that parent. The tokens that it shares with the
// parent are then prompt; they are trained on in the row of the branch that sampled them. Nothing is compared or guessed: the record of
// each turn says how much of the parent its prompt keeps.
import type { TokenTurn } from './token-turn.ts';

/** Why the tokens of a branch cannot be known. */
export type BranchFlaw = 'no_prompt_ids' | 'no_token_ids' | 'truncated' | 'parent_missing';

export interface Branch {
  /** 0-based, in the order of their first turns. */
  readonly number: number;
  /** The last turn. */
  readonly tip: PlacedTurn;
}

export interface BranchedAttempt {
  readonly branches: readonly Branch[];
  /** Prompts after the first that do not begin with their parent's prompt and completion. */
  readonly prefixBreaks: number;
}

/** A turn with its parent. */
interface PlacedTurn {
  readonly turn: TokenTurn;
  readonly branch: number;
  readonly parent: PlacedTurn | undefined;
  /** Index in the row where its own part of the prompt begins, after the kept tokens. */
  readonly promptAt: number;
  readonly completionAt: number;
  readonly end: number;
  readonly flaw: BranchFlaw | undefined;
}

/** The branches of an attempt, given its turns in order and without repeats. */
export function branchesOf(turns: readonly TokenTurn[]): BranchedAttempt {
  const placed = new Map<number, PlacedTurn>();
  const tips: PlacedTurn[] = [];
  let prefixBreaks = 0;
  for (const turn of turns) {
    const parent = placed.get(turn.branch_parent);
    const continues = parent !== undefined && turn.prompt_keep === parent.end;
    if (!continues && tips.length > 0) prefixBreaks += 1;
    const own = placeOf(turn, parent, continues && tips[parent.branch] === parent ? parent.branch : tips.length);
    placed.set(turn.turn, own);
    tips[own.branch] = own;
  }
  return { branches: tips.map((tip, number) => ({ number, tip })), prefixBreaks };
}

function placeOf(turn: TokenTurn, parent: PlacedTurn | undefined, branch: number): PlacedTurn {
  const promptAt = parent === undefined ? 0 : turn.prompt_keep;
  const completionAt = promptAt + turn.prompt_ids.length;
  const end = completionAt + turn.token_ids.length;
  return { turn, branch, parent, promptAt, completionAt, end, flaw: parent?.flaw ?? flawOf(turn, parent) };
}

function flawOf(turn: TokenTurn, parent: PlacedTurn | undefined): BranchFlaw | undefined {
  if (turn.token_ids.length < turn.completion_tokens) return turn.truncated ? 'truncated' : 'no_token_ids';
  if (parent !== undefined) return turn.prompt_keep < 0 || turn.prompt_keep > parent.end ? 'parent_missing' : undefined;
  if (turn.branch_parent >= 0 || turn.prompt_keep !== 0) return 'parent_missing';
  if (turn.prompt_ids.length > 0) return undefined;
  return turn.truncated ? 'truncated' : 'no_prompt_ids';
}

/** What a turn adds to the row of a branch. */
export interface BranchLink extends Pick<PlacedTurn, 'turn' | 'promptAt' | 'completionAt'> {
  /** End of its completion, or of what the next link keeps of it. */
  readonly end: number;
  /** False for a turn of another branch, whose tokens are prompt here. */
  readonly isOwn: boolean;
}

/** The turns of a branch, starting with a fresh prompt: its own, and those whose tokens it keeps. */
export function linksOf({ number, tip }: Branch): readonly BranchLink[] {
  const links: BranchLink[] = [];
  let end = tip.end;
  for (let at: PlacedTurn | undefined = tip; at !== undefined; at = at.parent) {
    const { turn, promptAt, completionAt } = at;
    const isOwn = at.branch === number;
    if (isOwn || end > promptAt) links.push({ turn, promptAt, completionAt, end, isOwn });
    end = Math.min(end, promptAt);
  }
  return links.reverse();
}
