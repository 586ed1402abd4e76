// Follows trajectories from a worker with the settings of the compact recipe to the input of its learner: events, fold, batch, returns.
import { afterEach, expect, it, vi } from 'vitest';
import { prepareBatch, trainingBatch } from '../../../consumers/trainer/batches.ts';
import { discountedReturns } from '../../../infra/tfjs/decisions.ts';
import { hyperOf } from '../../../infra/tfjs/hyper.ts';
import { loadConfig } from '../../../infra/config/load.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { policyOf, policyTurn, toolResult, toolsOf } from '../../../infra/testing/scripted-agents.ts';
import { endOf, overMemory, request, rolloutsOf, testWorker, type TestWorker } from '../../../infra/testing/worker-harness.ts';
import type { Action, RankerDecision } from '../../../streams/core/agents.ts';
import { select } from '../../../streams/batch/batch.ts';
import { attemptOf, foldRequest, newGroup, noteEnding, type Group } from '../../../streams/group/group.ts';
import { foldFinished, foldStarted, foldTurn } from '../../../streams/trajectory/attempt.ts';

const config = loadConfig({ TURNSTREAM_RECIPE: 'compact' });
vi.setConfig({ testTimeout: 60_000 });
const started: TestWorker[] = [];
afterEach(async () => {
  for (const { worker } of started.splice(0)) await worker.stop();
});

const search: Action = { tool: 'search', query: 'q' };
const lost: Action = { tool: 'access', url: 'nowhere' };
const answer: Action = { tool: 'answer', answer: 'Vienna' };
const script = [search, answer, lost, answer, answer, answer];
const decision: RankerDecision = { features: new Float32Array([1, 2]), candidates: 2, width: 1, chosen: 0, logprob: -0.5, entropy: 0.6 };

/** Runs both trajectories of a group and returns the group as the trainer folds it. */
async function playedGroup(): Promise<{ readonly group: Group; readonly log: MemoryLog }> {
  const log = new MemoryLog({ partitions: { tasks: 1 } });
  const test = testWorker(overMemory(log), {
    policy: policyOf(({ turn }) => policyTurn(script[turn % script.length], { decision })),
    tools: toolsOf((argument) =>
      argument === 'nowhere'
        ? toolResult({ status: 'error', errorType: 'not_found', text: 'x'.repeat(900) })
        : toolResult({ text: 'x'.repeat(300) }),
    ),
    episode: { stepReward: config.stepReward, answersToEnd: config.answersToEnd },
    options: { concurrency: config.workerConcurrency },
  });
  started.push(test);
  await test.worker.start(new AbortController().signal);
  const size = { group_size: 2, group_index: 0, answers: ['Vienna'], max_turns: config.maxTurns };
  const requests = ['g0.0', 'g0.1'].map((trajectory) => requested({ trajectory }, size));
  await request(log.writer(), requests);
  const ended = () => [...rolloutsOf(log).attempts.values()].filter((events) => endOf(events) !== undefined);
  await vi.waitFor(
    () => {
      expect(ended()).toHaveLength(2);
    },
    { timeout: 30_000, interval: 2 },
  );
  const [first] = requests;
  const group = newGroup(first!);
  for (const one of requests) {
    foldRequest(group, one, { partition: 0, offset: 0 });
    const trajectory = group.trajectories.get(one.trajectory_id)!;
    const attempt = attemptOf(trajectory, 0)!;
    for (const { type, event } of rolloutsOf(log).attempts.get(`${one.trajectory_id}/0`) ?? []) {
      if (type === 'TrajectoryStarted') foldStarted(attempt, event);
      if (type === 'TurnRecorded') foldTurn(attempt, event);
      if (type === 'TrajectoryFinished') foldFinished(attempt, event);
    }
    noteEnding(group, trajectory, attempt);
  }
  return { group, log };
}

it('the learner of the compact recipe gets the discounted return of every step', async () => {
  const { group, log } = await playedGroup();
  const events = rolloutsOf(log).attempts.get('g0.0/0') ?? [];
  expect(events.flatMap(({ type, event }) => (type === 'TurnRecorded' ? [event.reward] : []))).toEqual([0.3, 0, -0.1, 0, 0, 0]);
  expect(endOf(events)).toMatchObject({ status: 'answered', answer: 'Vienna', turns: 6, tool_calls: 2, tool_errors: 1, f1: 1, reward: 1 });

  const rules = { algorithm: config.algorithm, version: 0, batchGroups: 1, maxStaleness: 4, stalePolicy: 'discard' };
  const { batch, discards } = select([group], rules, new Set());
  expect(discards).toEqual([]);
  const [first] = trainingBatch(prepareBatch(batch, 0, { nowMs: 0, waitedSinceMs: 0 }), 1).trajectories;
  const { discount, ...hyper } = hyperOf(config.algorithm, config.learningRate, { entropyBonus: config.entropyBonus });
  expect(hyper).toMatchObject({
    learningRate: 1e-5,
    weightDecay: 0.01,
    maxGradNorm: 1,
    replayCapacity: 100_000,
    replaySample: 128,
    replaySteps: 10,
    entropyBonus: 0,
  });
  const returns = discountedReturns(first!, discount);
  const expected = [0.3 - 0.1 * 0.99 ** 2 + 0.99 ** 5, -0.1 * 0.99 + 0.99 ** 4, -0.1 + 0.99 ** 3, 0.99 ** 2, 0.99, 1];
  expect(returns).toHaveLength(6);
  returns.forEach((value, at) => {
    expect(value).toBeCloseTo(expected[at]!, 9);
  });
});
