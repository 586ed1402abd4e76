import { expect, it } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { missingForRows } from './missing-for-rows.ts';

const llm = { TURNSTREAM_POLICY: 'llm', TURNSTREAM_LLM_URL: 'http://127.0.0.1:1', TURNSTREAM_LLM_MODEL: 'm' };
const external = { ...llm, TURNSTREAM_TRAINER: 'external' };
const tokens = { TURNSTREAM_LLM_TOKEN_IDS: 'true' };

it.each([
  ['a run that only collects rollouts', llm, ''],
  ['an external trainer of the built-in policy', { TURNSTREAM_TRAINER: 'external' }, ''],
  ['an external trainer with tokens and logprobs', { ...external, ...tokens, TURNSTREAM_LLM_LOGPROBS: 'true' }, ''],
  ['an external trainer without logprobs', { ...external, ...tokens }, 'set TURNSTREAM_LLM_LOGPROBS=true,'],
  ['an external trainer without either', external, 'set TURNSTREAM_LLM_TOKEN_IDS=true and TURNSTREAM_LLM_LOGPROBS=true,'],
])('names the missing settings of %s', (_, env, missing) => {
  const text = missingForRows(loadConfig(env));
  if (missing === '') expect(text).toBe('');
  else expect(text).toContain(missing);
});
