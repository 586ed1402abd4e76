import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi, type TestApiOptions } from '../../../infra/testing/api.ts';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { eventsOf } from '../../../streams/core/read-log.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { deferred } from '../../../streams/core/waiting.ts';

const log = new MemoryLog();
const servers: HttpServer[] = [];
let shared: HttpServer;
beforeAll(async () => (shared = await api()));
afterAll(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function api(options: Partial<TestApiOptions> = {}): Promise<HttpServer> {
  const server = await testApi({ store: createFakeStore(), log, ...options });
  servers.push(server);
  return server;
}

async function written(): Promise<readonly object[]> {
  const found: object[] = [];
  for await (const read of eventsOf({ log: log.reader(), events: codecReader(log.codec) }, 'rollouts')) if (read.ok) found.push(read.value);
  return found;
}

const NDJSON = 'application/x-ndjson';

async function post(server: HttpServer, payload: string, headers: Readonly<Record<string, string>> = {}) {
  const reply = await server.app.inject({
    ...{ method: 'POST', url: '/v1/runs/demo/events', payload },
    headers: { 'content-type': NDJSON, ...headers },
  });
  return { status: reply.statusCode, headers: reply.headers, body: reply.json<Record<string, unknown>>() };
}
const lines = (...events: readonly unknown[]): string => events.map((event) => `${JSON.stringify(event)}\n`).join('');
const reward = { type: 'RewardAttached', trajectory_id: 'demo-g000001.0', value: 0.5 };

describe('posted rewards', () => {
  it('are in the log under an id made from their identity, from NDJSON and from an array', async () => {
    const named = { ...reward, name: 'human', attempt: 1, turn: 2, identifier: 'a/b', source: 'me', run_id: 'demo' };
    const ids = ['demo-g000001.0/0/-1/reward/', 'demo-g000001.0/1/2/human/a/b'];
    expect(await post(shared, `\n${lines(reward)}\r\n${lines({ ...named, event_id: ids[1] })}`)).toMatchObject({
      status: 200,
      body: { recorded: 2, event_ids: ids },
    });
    expect((await post(shared, JSON.stringify([reward, named]), { 'content-type': 'application/json; charset=utf-8' })).body).toEqual({
      recorded: 2,
      event_ids: ids,
    });
    const events = await written();
    const plain = {
      event_id: ids[0],
      run_id: 'demo',
      group_id: 'demo-g000001',
      attempt: 0,
      turn: -1,
      name: 'reward',
      value: 0.5,
      producer: 'api-test',
    };
    expect(events).toHaveLength(4);
    expect(events[0]).toMatchObject({ type: 'RewardAttached', event: { ...plain, source: '', identifier: '' } });
    expect(events[3]).toMatchObject({ event: { event_id: ids[1], name: 'human', attempt: 1, turn: 2, identifier: 'a/b', source: 'me' } });
  });

  it.each<[string, unknown, string, RegExp]>([
    ['an unknown type', { ...reward, type: 'TurnRecorded' }, 'line 2: type', /must be RewardAttached/],
    ['no value', { ...reward, value: undefined }, 'line 2: value', /is missing/],
    ['a value that is too large', '{"type":"RewardAttached","trajectory_id":"g.0","value":1e999}', 'line 2: value', /finite/],
    ['a text as value', { ...reward, value: '1' }, 'line 2: value', /finite/],
    ['no trajectory id', { ...reward, trajectory_id: 'g' }, 'line 2: trajectory_id', /<group_id>\.<sample>/],
    ['null as value', { ...reward, value: null }, 'line 2: value', /finite/],
    ['null as attempt', { ...reward, attempt: null }, 'line 2: attempt', /whole number/],
    ['an attempt over 32 bits', { ...reward, attempt: 2 ** 31 }, 'line 2: attempt', /whole number/],
    ['an id that is too long', { ...reward, trajectory_id: `${'g'.repeat(391)}.0` }, 'line 2: trajectory_id', /<group_id>/],
    ['an identifier that is too long', { ...reward, identifier: 'x'.repeat(201) }, 'line 2: identifier', /at most 200/],
    ['a name with a slash', { ...reward, name: 'a/b' }, 'line 2: name', /letters/],
    ['a fractional attempt', { ...reward, attempt: 0.5 }, 'line 2: attempt', /whole number/],
    ['a turn below -1', { ...reward, turn: -2 }, 'line 2: turn', /from -1/],
    ['another run', { ...reward, run_id: 'other' }, 'line 2: run_id', /must be demo/],
    ['a field that is not known', { ...reward, vaule: 1 }, 'line 2: vaule', /is not known here/],
    ['another id', { ...reward, event_id: 'x' }, 'line 2: event_id', /must be demo-g000001\.0\/0\/-1\/reward\/, or left out/],
    ['a different value for the same identity', { ...reward, value: 0.75 }, 'line 2: value', /differs from an earlier value of/],
    ['no JSON', '{"type":', 'line 2', /is not JSON/],
    ['no object', '[1]', 'line 2', /must be an object/],
  ])('are refused with the number of the bad line, and nothing is written: %s', async (_, ...[second, parameter, message]) => {
    const before = await written();
    const { status, body } = await post(shared, `${lines(reward)}${typeof second === 'string' ? second : JSON.stringify(second)}`);
    expect([status, body['code']]).toEqual([400, 'REQUEST_INVALID']);
    expect(body['errors']).toEqual([{ parameter, message: expect.stringMatching(message) as unknown }]);
    expect(body['detail']).toContain(parameter);
    expect(await written()).toEqual(before);
  });

  it('are refused as a whole: no events, no array, another media type, too many bytes or events, an invalid run', async () => {
    const before = await written();
    for (const [text, type] of [
      ['', 'application/x-ndjson'],
      ['[]', 'application/json'],
      ['{}', 'application/json'],
      ['x', 'application/json'],
    ] as const)
      expect((await post(shared, text, { 'content-type': type })).status).toBe(400);
    expect((await post(shared, lines(reward), { 'content-type': 'text/plain' })).body).toMatchObject({ code: 'MEDIA_TYPE_UNSUPPORTED' });
    expect((await post(shared, ' '.repeat(1_100_000))).body).toMatchObject({ code: 'BODY_TOO_LARGE' });
    const many = await post(shared, lines({ type: 'x' }).repeat(10_001));
    expect(many.body['errors']).toEqual([{ parameter: 'body', message: 'has more than 10000 events' }]);
    const none = await shared.app.inject({
      method: 'POST',
      url: '/v1/runs/No%20Run/events',
      payload: lines(reward),
      headers: { 'content-type': 'application/x-ndjson' },
    });
    expect(none.statusCode).toBe(400);
    expect(await written()).toEqual(before);
  });

  it('need the scope record', async () => {
    const server = await api({ keys: ['key-of-a-reader-0123:read', 'key-of-a-recorder-01:record'] });
    const as = (key: string) => post(server, lines(reward), { authorization: `Bearer ${key}` });
    expect((await as('key-of-a-reader-0123')).status).toBe(403);
    expect((await as('key-of-a-recorder-01')).status).toBe(200);
  });

  it('get 503 while Kafka is unavailable, after a timeout or at once if an append is overdue, and are recorded once none is', async () => {
    const held = deferred<readonly []>();
    let calls = 0;
    const writer = {
      append: (events: Parameters<ReturnType<MemoryLog['writer']>['append']>[0]) =>
        (calls += 1) === 1 ? held.promise : log.writer().append(events),
    };
    const server = await api({ posting: { writer, patienceMs: 5 } });
    for (let i = 0; i < 2; i += 1) {
      const { status, headers, body } = await post(server, lines(reward));
      expect([status, body['code']]).toEqual([503, 'KAFKA_UNAVAILABLE']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(calls, 'the second was not even tried').toBe(1);
    held.reject(new PlatformError('KAFKA_UNAVAILABLE', 'appending'));
    await held.promise.catch(() => undefined);
    await Promise.resolve();
    expect((await post(server, lines(reward))).status).toBe(200);
  });

  it('may have identifiers of 200 characters of any kind, as described', async () => {
    const { status, body } = await post(shared, lines({ ...reward, identifier: '\u{1F600}'.repeat(200) }));
    expect([status, body['recorded']]).toEqual([200, 1]);
  });

  it('are described with examples', async () => {
    const document = (await shared.app.inject('/openapi.json')).json<{
      paths: Record<string, { post: { requestBody: { content: Record<string, unknown> } } }>;
    }>();
    const { content } = document.paths['/v1/runs/{run}/events']!.post.requestBody;
    expect(Object.keys(content).sort()).toEqual(['application/json', 'application/x-ndjson']);
    expect(JSON.stringify(content)).toContain('example');
  });
});
