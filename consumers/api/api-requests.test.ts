import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import { encodeCursor } from './cursor.ts';
import { get, setUpApiFake, shared, store, storeAnswers } from './api-fake.testing.ts';

setUpApiFake();

interface ListedParameter {
  readonly in: string;
  readonly required?: boolean;
}

describe('bad requests', () => {
  it.each([
    ['/v1/runs?limit=0', 'limit'],
    ['/v1/runs?limit=1001', 'limit'],
    ['/v1/runs?limit=many', 'limit'],
    ['/v1/runs?status=asleep', 'status'],
    ['/v1/runs?offset=1', 'offset'],
    ['/v1/runs/Not_A_Slug', 'run'],
    [`/v1/runs/${'x'.repeat(64)}`, 'run'],
    ['/v1/runs/a/steps/first', 'step'],
    ['/v1/runs/a/steps/-1', 'step'],
    ['/v1/runs/a/steps/99999999999', 'step'],
    ['/v1/runs/a/steps?order=sideways', 'order'],
    ['/v1/runs/a/trajectories?min_reward=high', 'min_reward'],
    ['/v1/runs/a/trajectories?purpose=fun', 'purpose'],
    ['/v1/runs/a/trajectories?question=', 'question'],
    ['/v1/trajectories/a.0/turns?attempt=x', 'attempt'],
    ['/v1/trajectories/a.0/rewards?attempt=99999999999', 'attempt'],
    ['/v1/trajectories/a.0/rewards?attempt=-1', 'attempt'],
    ['/v1/trajectories/a.0/find', 'regex'],
    ['/v1/runs/a/find?q=', 'q'],
    [`/v1/runs/a/find?regex=${'x'.repeat(501)}`, 'regex'],
    ['/v1/runs/a/find?q=a&regex=b&limit=0', 'limit'],
    ['/v1/dead-letters?topic=', 'topic'],
    ['/v1/dead-letters?partition=-1', 'partition'],
    ['/v1/dead-letters?offset=first', 'offset'],
    ['/v1/dead-letters?run=Not_A_Slug', 'run'],
    ['/v1/runs/a/ledger?with=Not_A_Slug', 'with'],
    ['/v1/runs/a/ledger/check?from=1', 'from'],
    [`/v1/trajectories/${'x'.repeat(401)}/rewards`, 'trajectory'],
    ['/v1/batches/nonsense/rows', 'batch'],
    ['/v1/batches/a%2Fstep%2F1.0/rows?shard=2', 'shard'],
    ['/v1/trajectories/a.0/turns?fields=text,secrets', 'fields'],
    ['/v1/dead-letters?fields=everything', 'fields'],
    ['/v1/questions?accepted=perhaps', 'accepted'],
    ['/v1/runs/a/steps?fields=secrets', 'fields'],
    ['/v1/runs/a/compare', 'with'],
    ['/v1/runs/a/questions?outcome=sometimes', 'outcome'],
    ['/v1/live?type=Nothing', 'type'],
    ['/v1/live?run=Not_A_Slug', 'run'],
    ['/v1/runs?cursor=no%20cursor', 'cursor'],
    ['/v1/runs/a/steps?fields=', 'fields'],
  ])('%s names %s', async (url, parameter) => {
    const { status, body } = await get(shared, url);
    expect({ status, code: body['code'] }).toEqual({ status: 400, code: 'REQUEST_INVALID' });
    expect(body['detail']).toContain(parameter);
    expect(store.asked).toEqual([]);
  });

  it.each([
    '/v1/runs?cursor=nonsense',
    `/v1/runs?cursor=${encodeCursor('tag', ['a', 'b'])}`,
    `/v1/runs/a/steps?cursor=${encodeCursor('tag', [1])}`,
    `/v1/runs/a/steps?cursor=${encodeCursor('tag', ['a'])}`,
  ])('%s is no cursor of this list', async (url) => {
    expect(await get(shared, url)).toMatchObject({ status: 409, body: { code: 'CURSOR_MISMATCH' } });
    expect(store.asked).toEqual([]);
  });

  it.each([
    ['no query', {}],
    ['an empty query', { query: '' }],
    ['an unknown format', { query: 'select 1', format: 'Native' }],
    ['an unknown field', { query: 'select 1', settings: { readonly: 0 } }],
    ['params that are no object', { query: 'select 1', params: 'a' }],
    ['a param that is an object', { query: 'select 1', params: { a: { b: 1 } } }],
    ['a param of arrays that are nested too deeply', { query: 'select 1', params: { a: [[[[1]]]] } }],
    ['a param with an odd name', { query: 'select 1', params: { 'a b': 1 } }],
  ])('SQL with %s', async (_what, payload) => {
    const { app } = shared;
    const reply = await app.inject({ method: 'POST', url: '/v1/sql', payload });
    expect(reply.statusCode).toBe(400);
    expect(reply.json()).toMatchObject({ code: 'REQUEST_INVALID' });
    expect(store.asked).toEqual([]);
  });
});

describe('what is not there', () => {
  it('is 404 at every route of a run', async () => {
    const { body } = await get(shared, '/openapi.json');
    const paths = Object.entries(body['paths'] as Record<string, { readonly get?: { readonly parameters?: readonly ListedParameter[] } }>);
    const ofRuns = paths.filter(([path, { get: operation }]) => {
      const inQuery = operation?.parameters?.filter((parameter) => parameter.in === 'query' && parameter.required === true) ?? [];
      // a search needs one of two parameters
      return path.startsWith('/v1/runs/{run}') && !path.endsWith('/find') && operation !== undefined && inQuery.length === 0;
    });
    expect(ofRuns.length).toBeGreaterThan(15);
    for (const [path] of ofRuns) {
      const url = path.replace('{step}', '1').replace(/\{\w+\}/g, 'nobody');
      expect(await get(shared, url), url).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    }
  });

  it.each([
    '/v1/runs/nobody',
    '/v1/runs/nobody/steps',
    '/v1/runs/nobody/steps/1',
    '/v1/runs/nobody/staleness',
    '/v1/runs/nobody/tools',
    '/v1/runs/nobody/policies',
    '/v1/runs/nobody/discarded',
    '/v1/runs/nobody/selection-bias',
    '/v1/runs/nobody/curves',
    '/v1/runs/nobody/heldout',
    '/v1/runs/nobody/spreads',
    '/v1/evaluations/nothing/results',
    '/v1/runs/nobody/trajectories',
    '/v1/runs/nobody/lineage',
    '/v1/runs/nobody/tool-calls',
    '/v1/runs/nobody/lengths',
    '/v1/runs/nobody/wall-clock',
    '/v1/runs/nobody/questions',
    '/v1/runs/nobody/workers',
    '/v1/runs/nobody/cost',
    '/v1/runs/nobody/compare?with=nobody',
    '/v1/runs/nobody/groups/g',
    '/v1/groups/g',
    '/v1/trajectories/t.0',
    '/v1/trajectories/t.0/turns',
    '/v1/evaluations/e',
    '/v1/evaluations/e/scores',
  ])('%s is 404', async (url) => {
    expect(await get(shared, url)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });
});

describe('the store', () => {
  it('when unavailable gives 503 and the time to retry after', async () => {
    storeAnswers(() => {
      throw new PlatformError('STORE_UNAVAILABLE', 'querying at http://secret');
    });
    const reply = await shared.app.inject('/v1/runs');
    expect(reply.statusCode).toBe(503);
    expect(reply.headers['retry-after']).toBe('2');
    expect(reply.json()).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(reply.body).not.toContain('secret');
  });

  it('when it reaches its time limit gives 422 and advises to ask for less', async () => {
    storeAnswers(() => {
      throw new PlatformError('STORE_REFUSED', 'querying at http://secret', { context: { clickhouseCode: 159 } });
    });
    const reply = await shared.app.inject('/v1/runs');
    expect(reply.statusCode).toBe(422);
    expect(reply.json()).toMatchObject({ code: 'SQL_LIMIT', detail: expect.stringContaining('limit of 30 s') as string });
    expect(reply.body).not.toContain('secret');
  });

  it('when it refuses a statement of the API gives 500', async () => {
    storeAnswers(() => {
      throw new PlatformError('STORE_REFUSED', 'querying: secret');
    });
    const reply = await shared.app.inject('/v1/runs');
    expect(reply.json()).toMatchObject({ status: 500, code: 'INTERNAL' });
    expect(reply.body).not.toContain('secret');
  });

  it('gets every value as a bound parameter, and reads no heavy columns', async () => {
    const server = shared;
    const evil = "x' or 1=1 --";
    await get(
      server,
      `/v1/runs/a/trajectories?question=${encodeURIComponent(evil)}&tool=${encodeURIComponent(evil)}&step=3&min_reward=0.5`,
    );
    await get(server, `/v1/trajectories/${encodeURIComponent(evil)}/turns`);
    await get(server, `/v1/groups/${encodeURIComponent(evil)}`);
    expect(store.asked.length).toBeGreaterThan(4);
    for (const { sql } of store.asked) {
      expect(sql).not.toContain('1=1');
      expect(sql).not.toMatch(/\b(text|tool_result|token_ids)\b/);
    }
    expect(store.asked[0]?.params).toMatchObject({ question_holds: evil, tool_is: evil, step_is: 3, reward_least: 0.5, page_rows: 55 });
  });

  it('reads the heavy columns that a request names', async () => {
    await get(shared, '/v1/trajectories/t.0/turns?run=a&fields=text,tool_result');
    expect(store.asked[0]?.sql).toMatch(/\btext, tool_result\b/);
  });
});
