import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, ConnectionFailed, Turnstream, type Batch } from './index.ts';

interface SentRequest {
  readonly path: string;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A client of a fake API with responses from the test; an Error breaks the connection. */
function clientOf(answer: (asked: SentRequest, count: number) => Response | Error): {
  readonly ts: Turnstream;
  readonly asked: SentRequest[];
} {
  const asked: SentRequest[] = [];
  const fake: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const text = typeof init?.body === 'string' ? init.body : '';
    const one = {
      path: decodeURIComponent(url.pathname + url.search),
      headers: new Headers(init?.headers),
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
    };
    asked.push(one);
    const given = answer(one, asked.length);
    if (given instanceof Error) throw given;
    return given;
  };
  return { ts: new Turnstream({ url: 'http://api.test', apiKey: 'key-1', fetch: fake, sleep: async () => undefined }), asked };
}

afterEach(() => void vi.unstubAllGlobals());

const json = (body: unknown, status = 200): Response => Response.json(body, { status });
const claim = { epoch: 1, version: 0, lineage: 'l-0', lease_ms: 60_000 };
const lease = (step: number) => ({
  ...{ batch_id: `demo/step/${step}.0`, step, version_before: step - 1, batch_sha256: 'ab', rows: 1, tokens: 2, bytes: 9 },
  ...{ deadline: '', groups: [], data: { href: `/v1/batches/demo%2Fstep%2F${step}.0/rows`, formats: ['ndjson'], shards: 1 } },
});

/** The API of a coordinator that accepts every step. */
function coordinator({ path }: SentRequest, state: { step: number }): Response {
  if (path.endsWith('/trainer')) return json(claim);
  if (path.endsWith(':lease')) return json(lease(state.step + 1));
  if (path.endsWith('/rows')) return new Response('{"row":0,"token_ids":[1,2]}\n{"row":1,"token_ids":[3]}\n');
  if (!path.endsWith(':commit')) return json({});
  state.step += 1;
  return json({ step: state.step, version: state.step, lineage: `l-${state.step}`, replayed: false });
}

describe('the client', () => {
  it('reads a list to its end', async () => {
    const { ts, asked } = clientOf((_, count) => json({ items: [{ trajectory_id: `t-${count}` }], next_cursor: count < 3 ? 'c' : null }));
    const rows = await ts
      .run('demo')
      .trajectories({ min_reward: 0.5, fields: ['trajectory_id'] })
      .rows();
    expect(rows.map(({ trajectory_id }) => trajectory_id)).toEqual(['t-1', 't-2', 't-3']);
    expect(asked[1]?.path).toBe('/v1/runs/demo/trajectories?limit=1000&min_reward=0.5&fields=trajectory_id&cursor=c');
    expect(asked[0]?.headers.get('authorization')).toBe('Bearer key-1');
  });

  it('runs a statement', async () => {
    const { ts, asked } = clientOf(() => json({ data: [{ n: 1 }] }));
    expect(await ts.sql('select {n:Int32} as n', { n: 1 }).rows()).toEqual([{ n: 1 }]);
    expect(asked[0]?.body).toEqual({ query: 'select {n:Int32} as n', params: { n: 1 }, format: 'JSON' });
  });

  it('throws an ApiError with the code of the problem response', async () => {
    const { ts } = clientOf(() => json({ code: 'NOT_FOUND', detail: 'there is none' }, 404));
    const error = await ts
      .run('x')
      .summary()
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'NOT_FOUND', status: 404, message: 'NOT_FOUND: there is none' });
  });

  it.each([() => new Error('broke'), () => json({}, 503), () => json({}, 429)])('retries a call that is safe to repeat', async (fail) => {
    const { ts, asked } = clientOf((_, count) => (count < 3 ? fail() : json({ data: [] })));
    expect(await ts.sql('select 1').rows()).toEqual([]);
    expect(asked).toHaveLength(3);
  });

  it('does not retry a claim', async () => {
    const { ts, asked } = clientOf(() => new Error('broke'));
    await expect(ts.run('demo').trainer('a')).rejects.toThrow(ConnectionFailed);
    expect(asked).toHaveLength(1);
  });

  it('resumes the live stream where it broke', async () => {
    const stream = (n: number): Response =>
      new Response(`event: connected\nid: p${n - 1}\ndata: {}\n\nevent: A\nid: p${n}\ndata: {"n":${n}}\n\nevent: half`);
    const { ts, asked } = clientOf((_, count) => (count === 2 ? json({}, 503) : stream(count)));
    const seen: unknown[] = [];
    for await (const { type, id, data } of ts.live({ types: ['A'] })) {
      seen.push([type, id, data]);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual([
      ['A', 'p1', { n: 1 }],
      ['A', 'p3', { n: 3 }],
    ]);
    expect(asked.at(-1)?.headers.get('last-event-id')).toBe('p1');
  });

  it('attaches a reward, with an event id that identifies it', async () => {
    const { ts, asked } = clientOf(() => json({}));
    await ts.run('demo').reward({ trajectory_id: 't-1', value: 1, identifier: 'me' });
    expect(asked[0]?.body).toMatchObject({ type: 'RewardAttached', event_id: 't-1/0/-1/reward/me', value: 1, turn: -1 });
  });
});

describe('a trainer', () => {
  it('takes the lineage of each commit, and releases a batch that it did not commit', async () => {
    const state = { step: 0 };
    const { ts, asked } = clientOf((one) => coordinator(one, state));
    const trainer = await ts.run('demo').trainer('ts-1', { framework: 'none' });
    for await (const batch of trainer.batches()) {
      if (batch.lease.step === 3) break;
      expect(batch.name).toBe(`${batch.lease.step}.0`);
      const rows = [];
      for await (const row of batch.rows()) rows.push(row.token_ids);
      expect(rows).toEqual([[1, 2], [3]]);
      await batch.commit({ policy: null, metrics: { loss: 1 } });
    }
    expect([trainer.version, trainer.lineage]).toEqual([2, 'l-2']);
    expect(asked.map(({ path }) => path).filter((path) => !path.endsWith('/rows'))).toEqual([
      '/v1/runs/demo/trainer',
      ...['/v1/runs/demo/batches:lease', '/v1/batches/demo/step/1.0:commit'],
      ...['/v1/runs/demo/batches:lease', '/v1/batches/demo/step/2.0:commit'],
      ...['/v1/runs/demo/batches:lease', '/v1/batches/demo/step/3.0:release'],
    ]);
  });

  it('rewinds to an older version, publishes weights without a commit, and ends with the run', async () => {
    const { ts, asked } = clientOf(({ path }) => {
      if (path.endsWith(':lease')) return json({ code: 'RUN_FINISHED', detail: 'it has ended' }, 409);
      return json(path.endsWith('/trainer') ? claim : { version: 1, sha256: 'cd', replayed: false });
    });
    const rewind = { to_version: 1, reason: 'lost' };
    const trainer = await ts.run('demo').trainer('a', { lineage: 'l-1', rewind });
    expect(asked[0]?.body).toEqual({ trainer_id: 'a', lineage: 'l-1', rewind });
    await trainer.publish(1, { uri: 's3://w', sha256: 'cd', format: 'gguf' });
    expect(asked[1]).toMatchObject({ path: '/v1/runs/demo/policies', body: { version: 1, epoch: 1, uri: 's3://w' } });
    for await (const batch of trainer.batches()) throw new Error(`there is no ${batch.lease.batch_id}`);
  });

  it('claims with a prepared commit, and then sends this commit unchanged', async () => {
    const state = { step: 0 };
    const { ts, asked } = clientOf((one) => coordinator(one, state));
    const batch = await (await ts.run('demo').trainer('a')).lease();
    const prepared = batch?.prepare({ policy: { uri: 'file:///w', sha256: 'cd', format: 'gguf' } });
    const successor = await ts.run('demo').trainer('a', { lineage: 'l-0', prepared: prepared! });
    expect(successor.version).toBe(1);
    expect(asked.at(-2)?.body).toEqual({
      ...{ trainer_id: 'a', lineage: 'l-0' },
      prepared: { batch_id: 'demo/step/1.0', weights_sha256: 'cd' },
    });
    expect(asked.at(-1)?.body).toEqual({ epoch: 1, ...prepared?.commit });
    await batch?.release();
  });

  it('leaves prepared and held batches leased', async () => {
    const { ts, asked } = clientOf((one) => coordinator(one, { step: 0 }));
    const trainer = await ts.run('demo').trainer('a');
    for await (const batch of trainer.batches()) {
      batch.prepare({ policy: null });
      break;
    }
    for await (const batch of trainer.batches()) {
      batch.hold();
      break;
    }
    await trainer.lease();
    await trainer.close();
    await trainer.close();
    expect(asked.map(({ path }) => path).filter((path) => path.endsWith(':release'))).toHaveLength(1);
    expect(asked.at(-1)?.path).toBe('/v1/batches/demo/step/1.0:release');
  });

  it('claims with the lease of a batch that another process is training on', async () => {
    const { ts, asked } = clientOf((one) => coordinator(one, { step: 0 }));
    const trainer = await ts.run('demo').trainer('a', { lineage: 'l-0', held: lease(1) });
    const prepared = { batch_id: 'demo/step/1.0', weights_sha256: '' };
    expect(asked[0]?.body).toEqual({ trainer_id: 'a', lineage: 'l-0', prepared });
    await trainer.close();
    expect(asked).toHaveLength(1);
    await trainer.held?.commit({ policy: null });
    expect(trainer.version).toBe(1);
  });

  it('waits while the coordinator restarts, to lease and to commit', async () => {
    const state = { step: 0 };
    let count = 0;
    // more consecutive failures than one call has retries
    const { ts } = clientOf((one) => {
      if (!/:(?:lease|commit)$/.test(one.path)) return coordinator(one, state);
      count += 1;
      return count % 8 === 0 ? coordinator(one, state) : json({ code: 'COORDINATOR_UNAVAILABLE', detail: 'it restarts' }, 503);
    });
    const trainer = await ts.run('demo').trainer('a');
    for await (const batch of trainer.batches({ steps: 1 })) await batch.commit({ policy: null });
    expect([trainer.version, count]).toEqual([1, 16]);
  });

  it('waits while the API is unavailable, to lease, to read rows, and to commit', async () => {
    const state = { step: 0 };
    let count = 0;
    const { ts } = clientOf((one) => {
      if (!/(?::lease|:commit|\/rows)$/.test(one.path)) return coordinator(one, state);
      count += 1;
      if (count % 8 === 0) return coordinator(one, state);
      return count % 8 === 1 ? json({ detail: 'it starts' }, 500) : new Error('refused');
    });
    const trainer = await ts.run('demo').trainer('a');
    for await (const batch of trainer.batches({ steps: 1 })) {
      const rows = [];
      for await (const { row } of batch.rows()) rows.push(row);
      expect(rows).toEqual([0, 1]);
      await batch.commit({ policy: null });
    }
    expect([trainer.version, count]).toEqual([1, 24]);
  });

  it('leaves out metrics that are not finite', async () => {
    const { ts } = clientOf((one) => coordinator(one, { step: 0 }));
    const batch = await (await ts.run('demo').trainer('a')).lease();
    const prepared = batch?.prepare({ policy: null, metrics: { loss: NaN, kl: Infinity, reward: 0.5 } });
    expect(prepared?.commit['metrics']).toEqual({ reward: 0.5 });
    await batch?.release();
  });

  it('extends a lease until an extension is refused, also with timers that are numbers, as in a browser', async () => {
    const timers: (() => void)[] = [];
    const stop = vi.fn();
    vi.stubGlobal('setInterval', (action: () => void) => timers.push(action));
    vi.stubGlobal('clearInterval', stop);
    const { ts, asked } = clientOf((one) =>
      /:(?:extend|release)$/.test(one.path) ? json({ code: 'FENCED', detail: 'another one' }, 409) : coordinator(one, { step: 0 }),
    );
    let lost: Batch | undefined;
    for await (const batch of (await ts.run('demo').trainer('a')).batches()) {
      lost = batch;
      timers[0]?.();
      await vi.waitFor(() => {
        expect(batch.lost?.code).toBe('FENCED');
      });
      expect(stop).toHaveBeenCalledWith(1);
      break;
    }
    expect(asked.at(-1)?.path).toBe('/v1/batches/demo/step/1.0:release');
    expect(lost?.open).toBe(false);
  });
});
