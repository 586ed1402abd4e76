import { beforeAll, describe, expect, it } from 'vitest';
import { storyRun } from '../../infra/testing/api-story.ts';
import type { JsonObject } from '../../infra/testing/json.ts';
import { allPages, get, itemsOf, run, server, store } from './api.testing.ts';

describe('what the API returns', () => {
  it('about a run', async () => {
    expect(await get(run)).toMatchObject({
      run_id: storyRun,
      status: 'running',
      steps: 3,
      version: 3,
      trained: 6,
      discarded: 6,
      finished_at: null,
    });
    expect(await itemsOf('/v1/runs?status=finished')).toEqual([]);
    expect(await itemsOf(`${run}/steps?from_step=2&to_step=2`)).toMatchObject([{ step: 2 }]);
  });

  it('about a step', async () => {
    expect(await get(`${run}/steps/2`)).toMatchObject({
      step: { step: 2, version_before: 1 },
      trajectories: [{ trajectory_id: `${storyRun}-g2-0.0` }, { trajectory_id: `${storyRun}-g2-0.1` }],
      discarded: [{ reason: 'stale', version: 1 }, { reason: 'stale' }],
      truncated: false,
    });
  });

  it('about trained and discarded trajectories', async () => {
    const bias = await get(`${run}/selection-bias`);
    expect(bias['items']).toMatchObject([
      { step: 1, kept: 2, kept_turns_mean: 2, discarded: 2, discarded_turns_mean: 4 },
      { step: 2, kept_staleness_mean: 1, discarded_staleness_mean: 3 },
      { step: 3 },
    ]);
    expect(bias['by_reason']).toMatchObject([
      { reason: '', trajectories: 6 },
      { reason: 'stale', trajectories: 2 },
      { reason: 'uniform_group', trajectories: 4 },
    ]);
    expect(await itemsOf(`${run}/discarded?reason=stale&version=1`)).toHaveLength(2);
  });

  it('about the tools of a run', async () => {
    expect(await get(`${run}/tools`)).toMatchObject({
      items: [
        { tool: 'search', calls: 18, failure_rate: 0 },
        { tool: 'access', calls: 6, failure_rate: 1 },
      ],
      error_types: [{ tool: 'access', error_type: 'not_found', calls: 6 }],
    });
  });

  it('about a trajectory that was trained, one that was discarded and one that was lost', async () => {
    const finished = { status: 'answered', worker_id: 'w-0', expired_reason: '', result: { reward: 1 } };
    expect(await get(`/v1/trajectories/${storyRun}-g1-0.1?run=${storyRun}`)).toMatchObject({
      attempts: [finished],
      training: [{ step: 1 }],
      discarded: [],
    });
    expect(await get(`/v1/trajectories/${storyRun}-g2-1.1`)).toMatchObject({
      attempts: [finished],
      training: [],
      discarded: [{ reason: 'stale', version: 1 }],
    });
    expect(await get(`/v1/trajectories/${storyRun}-g4-0.0`)).toMatchObject({
      attempts: [
        { attempt: 0, status: 'expired', expired_reason: 'silent', worker_id: 'w-0', result: null },
        { attempt: 1, status: 'requested', started_at: null, worker_id: '', result: null },
      ],
    });
    expect(await itemsOf(`/v1/trajectories/${storyRun}-g4-0.0/turns`)).toEqual([]);
  });

  it('about a group, by both paths', async () => {
    const group = await get(`/v1/groups/${storyRun}-g1-0`);
    expect(group).toMatchObject({
      run_id: storyRun,
      group_size: 2,
      reward_mean: 0.5,
      reward_min: 0,
      reward_max: 1,
      trajectories: [{}, {}],
      requested: [{}, {}],
    });
    expect(await get(`${run}/groups/${storyRun}-g1-0`)).toEqual(group);
    expect(await get(`/v1/groups/${storyRun}-g4-0`)).toMatchObject({ reward_mean: null, reward_min: null, trajectories: [] });
    expect((await server.app.inject(`/v1/runs/another/groups/${storyRun}-g1-0`)).statusCode).toBe(404);
  });

  it('about turns, with texts only when they are asked for', async () => {
    const light = await itemsOf(`/v1/trajectories/${storyRun}-g1-0.0/turns?attempt=0&run=${storyRun}`);
    expect(light[0]).not.toHaveProperty('text');
    expect(light[0]).toMatchObject({ text_head: '<search> capital of Austria </search>', tool_result_head: 'Vienna' });
    expect((await itemsOf(`/v1/trajectories/${storyRun}-g1-0.0/turns?fields=text,tool_result`))[0]).toMatchObject({
      text: '<search> capital of Austria </search>',
      tool_result: 'Vienna',
    });
  });
});

describe('a trajectory of 30,000 turns', () => {
  const turns = 30_000;
  const address = '/v1/trajectories/long-g1.0/turns?run=long';

  beforeAll(async () => {
    await store.command(
      `insert into turns (run_id, group_id, trajectory_id, attempt, turn, tool, text)
       select 'long', 'long-g1', 'long-g1.0', 0, number, 'search', repeat('x', 200) from numbers(${turns})`,
    );
  });

  it('is read page by page, each turn once and in order', async () => {
    const rows = await allPages(`${address}&fields=turn`, 1_000);
    expect(rows.map(({ turn }) => turn)).toEqual(Array.from({ length: turns }, (_, turn) => turn));
  });

  it('can be read from the middle on', async () => {
    const page = await get(`${address}&min_turn=15000&limit=50`);
    const next = await get(`${address}&min_turn=15000&limit=50&cursor=${String(page['next_cursor'])}`);
    const numbers = [page, next].flatMap(({ items }) => (items as JsonObject[]).map(({ turn }) => turn));
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => 15_000 + index));
  });
});
