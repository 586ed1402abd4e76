// ASearcher's reward for answers that call a question invalid. A share of the questions is asked as valid: the prompt asks for the most
// likely answer, and an answer that calls the question invalid always scores -0.5. The other questions are open: the prompt allows such an
// answer, and it is scored like any other. One draw per group, because the rewards of its trajectories must be comparable.
import { createRandom, deriveSeed } from '../core/random.ts';

export type AskedAs = 'valid' | 'open';

/** Case-sensitive substrings that mark an answer as calling the question invalid: ASearcher looks for them anywhere in it. */
const SIGNS = ['question', 'invalid', 'appropriate', 'valid'] as const;

export const callsInvalid = (answer: string): boolean => SIGNS.some((sign) => answer.includes(sign));

/** Reward of an answer that calls a question invalid although it was asked as valid. */
export const CALLED_INVALID = -0.5;

/** How a group is asked; deterministic. Undefined for a negative share, which turns the feature off. */
export function askedAs(groupId: string, validShare: number): AskedAs | undefined {
  if (validShare < 0) return undefined;
  return createRandom(deriveSeed(`asked as/${groupId}`, 0))() < validShare ? 'valid' : 'open';
}
