import { describe, expect, it } from 'vitest';
import { JUDGE_PROMPT_SHA256 } from '../../streams/reward/judge-prompt.ts';
import { descriptors } from './descriptors.ts';
import { learning, workerSettingsOf } from './learning.ts';
import { loadConfig } from './load.ts';

describe('settings that change what is learned', () => {
  it('are distinguished from the others: every setting has one class', () => {
    expect(Object.values(learning).flat().sort(), 'name it in learning.ts').toEqual(Object.keys(descriptors).sort());
  });

  it('are not secret, because everybody can read what is recorded', () => {
    for (const name of [...learning.trainer, ...learning.worker]) expect(descriptors[name]).not.toHaveProperty('secret');
  });

  it('are recorded for the workers if they are in use', () => {
    expect(workerSettingsOf(loadConfig({}))).toEqual({ policy: 'ranker', tools: 'factbook', stepReward: 'none', answersToEnd: 1 });
    const llm = workerSettingsOf(
      loadConfig({}, { policy: 'llm', llmUrl: 'http://127.0.0.1:1/v1', llmModel: 'm', tools: 'web', serperApiKey: 'k' }),
    );
    expect(llm).toMatchObject({
      policy: 'llm',
      llmModel: 'm',
      llmTemperature: 1,
      llmMemory: 'transcript',
      webReader: 'builtin',
      searchTopK: 10,
    });
    expect(llm).not.toHaveProperty('policyModule');
    expect(llm).not.toHaveProperty('llmValidRatio');
    expect(llm).not.toHaveProperty('llmCalls');
    const valid = { policy: 'llm', llmUrl: 'http://127.0.0.1:1/v1', llmModel: 'm', llmValidRatio: 0, llmCalls: 'functions' } as const;
    expect(workerSettingsOf(loadConfig({}, valid))).toMatchObject({ llmValidRatio: 0, llmCalls: 'functions' });
    const judged = { judgeUrl: 'http://127.0.0.1:1/v1', judgeModel: 'j', judgeApiKey: 'k' };
    expect(workerSettingsOf(loadConfig({}, judged))).not.toHaveProperty('judgeModel');
    expect(workerSettingsOf(loadConfig({}, { ...judged, rewardJudge: 0.5 }))).toEqual({
      ...{ policy: 'ranker', tools: 'factbook', stepReward: 'none', answersToEnd: 1, rewardJudge: 0.5 },
      ...{ judgeModel: 'j', judgeMaxTokens: 1_024, judgeTries: 3, judgePrompt: `sha256:${JUDGE_PROMPT_SHA256}` },
    });
    expect(workerSettingsOf(loadConfig({}, { policy: 'module', policyModule: '/somewhere/mine.ts' }))['policyModule']).toBe('mine.ts');
  });
});
