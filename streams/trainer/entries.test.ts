import { expect, it } from 'vitest';
import { groupRequests } from './entries.ts';

const settings = {
  ...{
    seed: 1,
    algorithm: 'grpo',
    dataset: 'factbook',
    groupSize: 2,
    batchGroups: 2,
    maxConcurrent: 4,
    maxAttempts: 2,
    stalePolicy: 'discard',
  },
  ...{ steps: 0, reward: 'f1', maxTurns: 8, maxTokens: 1_000, maxWallMs: 1_000, silenceMs: 1_000, maxDiscarded: 1 },
} as const;
const question = { question_id: 'q', question: 'Which?', answers: ['a'], aug_answers: [] };

it.each([
  [4, false, -1],
  [0, false, 7],
  [0, true, -1],
])('with max. staleness %i (collected: %s) requests version %i (-1 = any)', (maxStaleness, collected, asked) => {
  const context = {
    runId: 'r',
    producer: 't',
    settings: { ...settings, maxStaleness },
    questions: { count: 1, at: () => question, find: () => question },
  };
  const requests = groupRequests({ ...context, version: 7, collected, now: 1 }, 3);
  expect(requests.map(({ sample, policy_version: version, admitted_version: admitted }) => [sample, version, admitted])).toEqual([
    [0, asked, 7],
    [1, asked, 7],
  ]);
});
