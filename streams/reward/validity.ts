// ASearcher's reward for answers that call a question invalid. A share of the questions is asked as valid: the prompt wants the most
// likely answer, and an answer there that calls the question invalid is worth -0.5, whatever else is true of it. The other
// questions are open: the prompt allows such an answer, and it is scored as any answer is. One draw a group, as all its
// trajectories have to be compared.
import { createRandom, deriveSeed } from '../core/random.ts';

export type AskedAs = 'valid' | 'open';

/** Parts of an answer, in lower case as they are, that call a question invalid: ASearcher looks for them anywhere in it. */
const SIGNS = ['question', 'invalid', 'appropriate', 'valid'] as const;

export const callsInvalid = (answer: string): boolean => SIGNS.some((sign) => answer.includes(sign));

/** What an answer is worth that calls a question invalid which was asked as valid. */
export const CALLED_INVALID = -0.5;

/** How a group is asked, always the same; undefined with a negative share, which turns all of it off. */
export function askedAs(groupId: string, validShare: number): AskedAs | undefined {
  if (validShare < 0) return undefined;
  return createRandom(deriveSeed(`asked as/${groupId}`, 0))() < validShare ? 'valid' : 'open';
}
