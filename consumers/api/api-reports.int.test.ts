import { describe, expect, it } from 'vitest';
import { storyRun } from '../../infra/testing/api-story.ts';
import type { JsonObject } from '../../infra/testing/json.ts';
import { copyOf, get, itemsOf, run, server, store } from './api.testing.ts';

describe('reports', () => {
  const mean = (rows: readonly JsonObject[], name: string): number => rows.reduce((sum, row) => sum + Number(row[name]), 0) / rows.length;

  it('split the change of the reward into two parts that add up to it', async () => {
    const id = (turns: number) => `${storyRun}-long-${turns}.0`;
    const longer = [5, 6].map(async (turns) => ({
      ...(await copyOf('trajectories', `${storyRun}-g3-0.1`, `'${id(turns)}'`)),
      ...{ turns, reward: turns / 10, version_first: 9, version_last: 9, _offset: 5_000 + turns },
    }));
    await store.insert('trajectories', await Promise.all(longer), 'longer');
    const rows = await itemsOf(`${run}/trajectories?limit=1000`);
    const newest = Math.max(...rows.map((row) => Number(row['version_first'])));
    const quarter = Math.floor(newest / 4);
    const early = rows.filter((row) => Number(row['version_first']) <= quarter);
    const late = rows.filter((row) => Number(row['version_first']) >= newest - quarter);
    const report = await get(`${run}/lengths`);
    expect(Number(report['by_length']) + Number(report['at_same_length'])).toBeCloseTo(mean(late, 'reward') - mean(early, 'reward'), 9);
    expect(report['by_length']).not.toBe(0);
    const count = (name: string) => (report['items'] as JsonObject[]).reduce((sum, item) => sum + Number(item[name]), 0);
    expect([count('early'), count('late')]).toEqual([early.length, late.length]);
    await store.command(`alter table trajectories delete where startsWith(trajectory_id, '${storyRun}-long') settings mutations_sync = 2`);
  });

  it('agree with the list of trajectories', async () => {
    const rows = await itemsOf(`${run}/trajectories?limit=1000`);
    const costs = await itemsOf(`${run}/cost`);
    expect(costs.reduce((sum, row) => sum + Number(row['trajectories']), 0)).toBe(rows.length);
    const [first] = costs;
    const own = rows.filter((row) => row['version_first'] === first?.['version']);
    const sum = (name: string) => own.reduce((total, row) => total + Number(row[name]), 0);
    expect(first?.['completion_tokens_per_reward']).toBeCloseTo(sum('completion_tokens') / sum('reward'), 9);
    expect(first?.['tool_calls_per_reward']).toBeCloseTo(sum('tool_calls') / sum('reward'), 9);
    const [question] = await itemsOf(`${run}/questions`);
    const right = rows.filter((row) => row['em'] === 1).length;
    expect(question).toMatchObject({ tries: rows.length, right_answers: right, outcome: 'flips' });
  });

  it('compare tools, workers, time and runs', async () => {
    const calls = await itemsOf(`${run}/tool-calls?limit=1000`);
    const { changes } = await get(`${run}/tools?since_step=2`);
    const since = calls.filter((call) => Number(call['policy_version_max']) >= 2);
    const total = (name: string) => (changes as JsonObject[]).reduce((sum, row) => sum + Number(row[name]), 0);
    expect([total('calls_since'), total('calls_before')]).toEqual([since.length, calls.length - since.length]);
    expect(changes).toMatchObject([
      { tool: 'access', error_type: 'not_found' },
      { tool: 'search', error_type: '' },
    ]);
    expect(await itemsOf(`${run}/workers`)).toMatchObject([{ worker_id: 'w-0', started: 13, finished: 12, lost: 1 }]);
    const clock = await itemsOf(`${run}/wall-clock`);
    const flight = (await itemsOf(`${run}/trajectories?limit=1000`))
      .map((row) => (Date.parse(String(row['finished_at'])) - Date.parse(String(row['started_at']))) / 1_000)
      .reduce((sum, seconds) => sum + seconds, 0);
    const rollouts = clock.filter(({ side, phase }) => side === 'rollouts' && phase !== 'queue');
    expect(rollouts.reduce((sum, row) => sum + Number(row['seconds']), 0)).toBeCloseTo(flight, 3);
    const compared = await itemsOf(`${run}/compare?with=${storyRun}`);
    expect(compared.length).toBeGreaterThan(15);
    expect(compared.every(({ differs }) => differs === false)).toBe(true);
    expect((await server.app.inject(`${run}/compare?with=nobody`)).statusCode).toBe(404);
  });

  it('put several runs side by side, with what a point of reward costs', async () => {
    const rows = await itemsOf(`${run}/trajectories?limit=1000`);
    const sum = (name: string): number => rows.reduce((total, row) => total + Number(row[name]), 0);
    const compared = await itemsOf(`${run}/compare?with=${storyRun},${storyRun}`);
    const cost = String(Number((sum('tool_calls') / sum('reward')).toFixed(2)));
    const told = { kind: 'cost', this_run: cost, other_run: cost, other_runs: [cost, cost], differs: false };
    expect(compared.find(({ name }) => name === 'train tool_calls_per_reward')).toMatchObject(told);
    const { others, ...own } = await get(`${run}/curves?points=10&series=reward_mean&with=${storyRun},${storyRun}`);
    expect(others).toEqual([own, own]);
    for (const path of ['compare?with=', 'curves?with=']) {
      expect((await server.app.inject(`${run}/${path}${storyRun},nobody`)).statusCode, path).toBe(404);
      expect((await server.app.inject(`${run}/${path}a,b,c,d,e,f`)).statusCode, path).toBe(400);
    }
  });

  it('return only the columns that are asked for', async () => {
    const [step] = await itemsOf(`${run}/steps?fields=reward_mean,loss`);
    expect(Object.keys(step ?? {})).toEqual(['reward_mean', 'loss']);
    const page = await get(`${run}/trajectories?fields=answer&limit=5`);
    expect(page['items']).toHaveLength(5);
    expect(Object.keys((page['items'] as JsonObject[])[0] ?? {})).toEqual(['answer']);
    const rest = await get(`${run}/trajectories?fields=answer&limit=50&cursor=${String(page['next_cursor'])}`);
    expect(rest['items']).toHaveLength(7);
  });
});

describe('other lists and filters', () => {
  it.each([
    ['/v1/questions?accepted=true', 3],
    ['/v1/questions?accepted=false', 1],
    ['/v1/questions?dataset=factbook&split=train&question=RIVER', 3],
    ['/v1/questions?question_id=q-4', 1],
    ['/v1/questions?split=heldout', 0],
    [`/v1/evaluations?run=${storyRun}&dataset=factbook&split=heldout`, 2],
    ['/v1/evaluations?run=another', 0],
    ['/v1/dead-letters?topic=rollouts&reason=not_framed', 1],
    ['/v1/dead-letters?topic=tasks', 0],
    [`${run}/lineage?tool=access`, 3],
    [`${run}/tool-calls?tool=access`, 6],
    [`${run}/tool-calls?error_type=not_found&min_version=3`, 2],
    [`${run}/tool-calls?arguments=AUSTRIA&tool_status=ok&max_version=0`, 4],
    [`${run}/tool-calls?trajectory=${storyRun}-g1-0.0&min_ms=0&max_ms=1&worker=w-0&purpose=train`, 2],
    [`${run}/tool-calls?group=${storyRun}-g1-0`, 4],
    [`${run}/tool-calls?group=${storyRun}-g1-0&min_turn=1&max_turn=1`, 2],
    [`${run}/tool-calls?group=${storyRun}-g1`, 0],
    [`/v1/trajectories/${storyRun}-g1-0.1/turns?tool=access`, 1],
    [`/v1/trajectories/${storyRun}-g1-0.1/turns?min_turn=1&max_turn=1&tool_status=error`, 1],
    [`${run}/discarded?min_version=1&max_version=1&min_reward=0.5&max_turns=4&min_staleness=3`, 2],
    [`${run}/discarded?min_turns=5`, 0],
    [`${run}/staleness?from_step=2&to_step=2`, 1],
    [`${run}/questions?outcome=flips`, 1],
    [`${run}/questions?outcome=never`, 0],
    [`${run}/lineage?trajectory=${storyRun}-g1-0.0`, 2],
  ])('%s: %d', async (url, count) => {
    expect(await itemsOf(url)).toHaveLength(count);
  });

  it('return the bytes of a dead letter on request', async () => {
    const [letter] = await itemsOf('/v1/dead-letters?fields=original_value_base64');
    expect(Buffer.from(String(letter?.['original_value_base64']), 'base64').toString()).toBe('junk');
  });

  it('find the dead letter of one record', async () => {
    const [letter] = await itemsOf('/v1/dead-letters');
    const [partition, offset] = [Number(letter?.['original_partition']), Number(letter?.['original_offset'])];
    const at = (query: string) => itemsOf(`/v1/dead-letters?${query}`);
    expect(await at(`topic=rollouts&partition=${partition}&offset=${offset}`)).toEqual([letter]);
    expect(await at(`partition=${partition}`)).toEqual([letter]);
    expect(await at(`partition=${partition + 1}`)).toEqual([]);
    expect(await at(`topic=rollouts&partition=${partition}&offset=${offset + 1}`)).toEqual([]);
    expect(await at(`topic=tasks&offset=${offset}`)).toEqual([]);
  });

  it('show an unfinished evaluation without scores', async () => {
    expect(await get('/v1/evaluations/eval-2')).toMatchObject({ status: 'running', avg_f1: null, completed_at: null });
    expect(await get('/v1/evaluations/eval-1')).toMatchObject({ status: 'completed', avg_f1: 0.75 });
    expect(await itemsOf('/v1/evaluations/eval-2/scores')).toEqual([]);
  });
});
