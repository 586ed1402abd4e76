import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import { JUDGE_PROMPT_SHA256 } from '../../../streams/reward/judge-prompt.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { askedAs } from '../../../streams/reward/validity.ts';
import type { Judge } from '../../judge/judge.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { policyOf, policyTurn, searchThenAnswer } from '../../../infra/testing/scripted-agents.ts';
import { endOf, request, rolloutsOf } from '../../../infra/testing/worker-harness.ts';
import { eventually, run, setUpWorker, tasks } from './worker.testing.ts';

setUpWorker();

describe('the rewards of a worker', () => {
  it('requests and records the verdict in a training reward once, and requests none in an evaluation', async () => {
    const log = new MemoryLog();
    const asked: string[] = [];
    const judge: Judge = {
      name: 'judge-7b',
      judge({ question }) {
        asked.push(question);
        return Promise.resolve({ verdict: 'incorrect', reason: 'no', tries: 1, by: { servedAs: 'j', version: 2 } });
      },
    };
    await run(log, { rewardJudge: { judge, share: 0.25 } });
    await request(log.writer(), [
      requested({ trajectory: 'g0.0' }, { question: 'Which one?' }),
      requested({ trajectory: 'g1.0' }, { purpose: 'eval' }),
    ]);
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].filter((events) => endOf(events) !== undefined)).toHaveLength(2);
    });
    const [train, evaluated] = ['g0.0/0', 'g1.0/0'].map((key) => endOf(rolloutsOf(log).attempts.get(key)));
    expect(train).toMatchObject({ status: 'answered', reward: 0.75, f1: 1, judge: 'judge-7b', verdict: 'incorrect', judge_reason: 'no' });
    expect(train).toMatchObject({ judge_tries: 1, judge_served: 'j', judge_version: 2, judge_prompt_sha256: JUDGE_PROMPT_SHA256 });
    expect(evaluated).toMatchObject({ reward: 1, judge: '', verdict: '', judge_version: -1, judge_prompt_sha256: '' });
    expect(asked).toEqual(['Which one?']);
  });

  it('asks the questions of training groups as valid or open, and records which and the resulting reward', async () => {
    const log = new MemoryLog();
    const seen = new Map<string, string>();
    const policy = policyOf(({ question, askedAs: how = '' }) => {
      seen.set(question, how);
      return policyTurn({ tool: 'answer', answer: 'the question is invalid.' });
    });
    await run(log, { policy, validShare: 0.5 });
    const groups = Array.from({ length: 12 }, (_, index) => `g${index}`);
    await request(log.writer(), groups.flatMap((group) => [
      requested({ trajectory: `${group}.0` }, { group_id: group, question: `${group}?` }),
      requested({ trajectory: `${group}-eval.0` }, { group_id: `${group}-eval`, question: `${group} eval?`, purpose: 'eval' }),
    ])); // prettier-ignore
    await eventually(() => {
      expect([...rolloutsOf(log).attempts.values()].filter((events) => endOf(events) !== undefined)).toHaveLength(24);
    });
    const ends = groups.map((group) => endOf(rolloutsOf(log).attempts.get(`${group}.0/0`)));
    expect(ends.map((end) => end?.asked_as)).toEqual(groups.map((group) => askedAs(group, 0.5)));
    expect(new Set(ends.map((end) => end?.asked_as))).toEqual(new Set(['valid', 'open']));
    for (const end of ends) {
      expect(end).toMatchObject({ called_invalid: true, reward: end?.asked_as === 'valid' ? -0.5 : 0, status: 'answered' });
      expect(seen.get(end?.question ?? '')).toBe(end?.asked_as);
    }
    for (const group of groups) {
      expect(endOf(rolloutsOf(log).attempts.get(`${group}-eval.0/0`))).toMatchObject({ asked_as: '', called_invalid: false, reward: 0 });
    }
  });

  it('fails an attempt that was not judged, instead of giving it the reward 0', async () => {
    const log = new MemoryLog();
    const judge: Judge = {
      name: 'j',
      judge: () => Promise.reject(new PlatformError('MODEL_UNAVAILABLE', 'judging answers with j: HTTP 500')),
    };
    await run(log, { rewardJudge: { judge, share: 1 } });
    await request(log.writer(), tasks(1));
    await eventually(() => {
      expect(endOf(rolloutsOf(log).attempts.get('g0.0/0'))).toMatchObject({ status: 'failed', error: 'judging answers with j: HTTP 500' });
    });
  });

  it('scores an evaluation with the eval variant and rewards it with the train variant', async () => {
    const log = new MemoryLog();
    await run(log, { policy: searchThenAnswer(0, 'True') });
    await request(log.writer(), [
      requested({ trajectory: 'e.0' }, { purpose: 'eval', answers: ['yes'] }),
      requested({ trajectory: 't.0' }, { purpose: 'train', answers: ['yes'] }),
    ]);
    await eventually(() => {
      expect(endOf(rolloutsOf(log).attempts.get('e.0/0'))).toMatchObject({ purpose: 'eval', reward: 1, f1: 0, em: 0 });
      expect(endOf(rolloutsOf(log).attempts.get('t.0/0'))).toMatchObject({ purpose: 'train', reward: 1, f1: 1, em: 1 });
    });
  });
});
