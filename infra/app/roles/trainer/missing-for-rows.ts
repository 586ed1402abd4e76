// Settings without which the rows of a run must not be trained on.
import type { Config } from '../../../config/descriptors.ts';

/** What an operator has to set; empty if nothing is missing. */
export function missingForRows({ trainer, policy, llmTokenIds, llmLogprobs }: Config): string {
  if (trainer !== 'external' || policy !== 'llm') return '';
  const missing = [...(llmTokenIds ? [] : ['TURNSTREAM_LLM_TOKEN_IDS=true']), ...(llmLogprobs ? [] : ['TURNSTREAM_LLM_LOGPROBS=true'])];
  return missing.length === 0 ? '' : `no row of this run can be trained on: set ${missing.join(' and ')}, also for its workers`;
}
