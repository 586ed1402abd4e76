import { describe, expect, it } from 'vitest';
import { loadConfig } from './load.ts';

it('allows function calls with the chat API only', () => {
  const set = {
    TURNSTREAM_POLICY: 'llm',
    TURNSTREAM_LLM_URL: 'http://a.example/v1',
    TURNSTREAM_LLM_MODEL: 'm',
    TURNSTREAM_LLM_CALLS: 'functions',
  };
  expect(loadConfig(set)).toMatchObject({ llmCalls: 'functions', llmApi: 'chat' });
  expect(() => loadConfig({ ...set, TURNSTREAM_LLM_API: 'completions' })).toThrow(
    'TURNSTREAM_LLM_CALLS functions needs TURNSTREAM_LLM_API chat',
  );
});

describe('a judge as a part of the reward', () => {
  it('needs a URL and a model, and is off by default', () => {
    const problem = 'TURNSTREAM_REWARD_JUDGE needs TURNSTREAM_JUDGE_URL and TURNSTREAM_JUDGE_MODEL';
    expect(() => loadConfig({ TURNSTREAM_REWARD_JUDGE: '1' })).toThrow(problem);
    expect(() => loadConfig({ TURNSTREAM_REWARD_JUDGE: '1', TURNSTREAM_JUDGE_MODEL: 'j' })).toThrow(problem);
    expect(() => loadConfig({ TURNSTREAM_REWARD_JUDGE: '1.5' })).toThrow('TURNSTREAM_REWARD_JUDGE must be a number in 0..1');
    expect(loadConfig({ TURNSTREAM_JUDGE_MODEL: 'j' }).rewardJudge).toBe(0);
    const set = { TURNSTREAM_REWARD_JUDGE: '0.5', TURNSTREAM_JUDGE_URL: 'http://a.example/v1', TURNSTREAM_JUDGE_MODEL: 'j' };
    expect(loadConfig(set)).toMatchObject({ rewardJudge: 0.5, judgeModel: 'j' });
  });
});
