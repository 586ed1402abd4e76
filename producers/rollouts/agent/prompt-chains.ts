// The prompts of one attempt as deltas: a turn whose prompt begins with the prompt and completion of an earlier turn records only the rest.
// Tokens are compared, never texts: if a chat template renders the history differently, the turn begins a new branch and records its prompt
// from the first different token on. A chain is a branch with all of its tokens so far. Chains are kept in memory, because a crash loses
// the attempt anyway.
import { createHash } from 'node:crypto';
import type { TurnOutcome } from '../../../schemas/rollouts/turn.ts';

export type PlacedPrompt = Pick<TurnOutcome, 'branch_parent' | 'prompt_keep' | 'prompt_ids' | 'prompt_sha256'> & {
  /** True for a prompt after the first that does not begin with all tokens of a chain in memory. */
  readonly breaks: boolean;
};

export const NO_PROMPT: PlacedPrompt = { branch_parent: -1, prompt_keep: 0, prompt_ids: [], prompt_sha256: '', breaks: false };

/** A branch so far: the token ids of the prompt and completion of its last turn. */
interface PromptChain {
  ids: Int32Array;
  length: number;
  turn: number;
}

/** Maximum number of chains in memory. A prompt that continues a dropped chain records more tokens but is just as exact. */
const CHAINS_KEPT = 8;
const FIRST_ROOM = 1_024;

function keptOf({ ids, length }: PromptChain, prompt: readonly number[]): number {
  const most = Math.min(length, prompt.length);
  let at = 0;
  while (at < most && ids[at] === prompt[at]) at += 1;
  return at;
}

function append(chain: PromptChain, ids: readonly number[]): void {
  const length = chain.length + ids.length;
  if (length > chain.ids.length) {
    const wider = new Int32Array(Math.max(FIRST_ROOM, length, 2 * chain.ids.length));
    wider.set(chain.ids.subarray(0, chain.length));
    chain.ids = wider;
  }
  chain.ids.set(ids, chain.length);
  chain.length = length;
}

/** SHA-256 of all ids as 32-bit little-endian integers, hex. */
function hashOf(prompt: readonly number[]): string {
  const bytes = Buffer.alloc(prompt.length * 4);
  prompt.forEach((id, at) => bytes.writeInt32LE(id, at * 4));
  return createHash('sha256').update(bytes).digest('hex');
}

/** The prompts of one attempt, turn by turn. */
export class PromptChains {
  /** Most recently used first. */
  #chains: PromptChain[] = [];

  /** Adds the prompt of a turn, given all of its ids. Later prompts may continue it and its completion. */
  place(turn: number, prompt: readonly number[], completion: readonly number[]): PlacedPrompt {
    const kept = this.#chains.map((chain) => ({ chain, keep: keptOf(chain, prompt) }));
    const whole = kept.filter(({ chain, keep }) => keep === chain.length);
    const [parent] = (whole.length > 0 ? whole : kept).filter(({ keep }) => keep > 0).sort((a, b) => b.keep - a.keep);
    const keep = parent?.keep ?? 0;
    const placed = {
      branch_parent: parent?.chain.turn ?? -1,
      prompt_keep: keep,
      prompt_ids: prompt.slice(keep),
      prompt_sha256: hashOf(prompt),
      breaks: whole.length === 0 && kept.length > 0,
    };
    const chain = whole.length > 0 && parent !== undefined ? parent.chain : { ids: new Int32Array(0), length: 0, turn };
    append(chain, prompt.slice(chain.length));
    append(chain, completion);
    chain.turn = turn;
    this.#chains = [chain, ...this.#chains.filter((one) => one !== chain)].slice(0, CHAINS_KEPT);
    return placed;
  }
}
