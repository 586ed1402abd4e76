import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi, type TestApiOptions } from '../../../infra/testing/api.ts';
import { outgoing, randomEvent, seeded } from '../../../infra/testing/events.ts';
import { EventStream, type ServerSentEvent } from '../../../infra/testing/event-stream.ts';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { turn } from '../../../infra/testing/rollout-events.ts';

let log: MemoryLog;
let server: HttpServer;
let url: string;
const streams: EventStream[] = [];

async function start(options: Partial<TestApiOptions> = {}): Promise<void> {
  server = await testApi({
    store: createFakeStore(({ params }) => (params['run'] === 'nope' ? [] : [{ known: 1 }])),
    log,
    live: { heartbeatMs: 10 },
    ...options,
  });
  ({ url } = await server.listen());
}

beforeEach(() => {
  log = new MemoryLog();
});

afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await server.close();
});

async function open(query = '', headers: Record<string, string> = {}): Promise<EventStream> {
  const stream = await EventStream.open(`${url}/v1/live${query}`, headers);
  expect(stream.answer.status).toBe(200);
  expect(stream.answer.headers.get('content-type')).toContain('text/event-stream');
  expect(stream.answer.headers.get('x-content-type-options')).toBe('nosniff');
  streams.push(stream);
  return stream;
}

const write = (trajectory: string, run = 'run-a') =>
  log.writer().append([outgoing('TurnRecorded', turn({ trajectory, sequence: 1, run }, 0))]);
const trajectoryOf = (event: ServerSentEvent | undefined) => (event?.data['event'] as { trajectory_id: string } | undefined)?.trajectory_id;

/** Adds each new trajectory to `seen` until the stream ends or there are enough; returns the last event. */
async function readAll(stream: EventStream, seen: Set<string | undefined>, enough = Infinity): Promise<ServerSentEvent | undefined> {
  let last: ServerSentEvent | undefined;
  while (seen.size < enough) {
    const event = await stream.next();
    if (event === undefined) break;
    last = event;
    if (event.event !== 'TurnRecorded') continue;
    expect(seen.has(trajectoryOf(event))).toBe(false);
    seen.add(trajectoryOf(event));
  }
  return last;
}

describe('GET /v1/live', () => {
  it('has an answer for a run that nobody knows, and for who asks for the headers alone', async () => {
    await start();
    const refused = await fetch(`${url}/v1/live?run=nope`);
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    const head = await fetch(`${url}/v1/live`, { method: 'HEAD' });
    expect({ status: head.status, type: head.headers.get('content-type') }).toMatchObject({
      status: 200,
      type: expect.stringContaining('text/event-stream') as string,
    });
  });

  it('goes on while nobody can say whether there is such a run', async () => {
    const store = createFakeStore(() => {
      throw new PlatformError('STORE_UNAVAILABLE', 'asking');
    });
    await start({ store });
    expect(await (await open('?run=run-a')).next()).toMatchObject({ event: 'connected' });
  });

  it('shows what is written from now on, without its bytes', async () => {
    await start();
    await write('old.0');
    const stream = await open();
    expect(await stream.next()).toMatchObject({ event: 'connected' });
    await write('new.0');
    const event = await stream.next();
    expect(event).toMatchObject({
      event: 'TurnRecorded',
      data: { topic: 'rollouts', type: 'TurnRecorded', event: { decision: { features: { bytes: 16 } } } },
    });
    expect(trajectoryOf(event)).toBe('new.0');
  });

  it('goes on where a client was, and misses nothing in between', async () => {
    await start();
    const first = await open();
    await first.next();
    await write('a.0');
    const last = (await first.next())!;
    first.close();
    await write('b.0');
    await write('c.0');
    await write('d.0');
    const second = await open('', { 'last-event-id': last.id });
    await second.next();
    await write('e.0');
    const seen = [await second.next(), await second.next(), await second.next(), await second.next()].map(trajectoryOf);
    expect([...seen].sort()).toEqual(['b.0', 'c.0', 'd.0', 'e.0']);
    expect(seen.at(-1)).toBe('e.0');
  });

  it('goes on for who cannot send a header, and says what the log has forgotten', async () => {
    await write('a.0');
    await write('b.0');
    const reader = log.reader();
    const bounds: typeof reader.bounds = async (topic) =>
      (await reader.bounds(topic)).map((bound) => (bound.end > 0 && topic === 'rollouts' ? { ...bound, first: bound.end } : bound));
    await start({ source: { log: { ...reader, bounds }, events: codecReader(log.codec) } });
    const all = [0, 1, 2, 3].map((partition) => `rollouts/${partition}/0`).join(',');
    const stream = await open(`?last_event_id=${encodeURIComponent(all)}`);
    expect(await stream.next()).toMatchObject({ event: 'connected' });
    expect(await stream.next()).toMatchObject({ event: 'gap', data: { topic: 'rollouts', from: 0 } });
    await write('c.0');
    for (;;) {
      const event = await stream.next();
      if (event?.event === 'gap') continue;
      expect(trajectoryOf(event)).toBe('c.0');
      break;
    }
  });

  it('gives a client that was long away all of it, at the pace at which it reads', async () => {
    await start({ live: { maxBufferedBytes: 100_000, heartbeatMs: 1_000 } });
    const events = Array.from({ length: 1_500 }, (_, index) =>
      outgoing('TurnRecorded', turn({ trajectory: `t${index}.0`, sequence: 1 }, 0, { text: 'x'.repeat(1_900) })),
    );
    const first = await open();
    const hello = await first.next();
    first.close();
    await log.writer().append(events);
    const stream = await open('', { 'last-event-id': hello?.id ?? '' });
    expect(await stream.next()).toMatchObject({ event: 'connected' });
    const seen = new Set<string | undefined>();
    while (seen.size < events.length) {
      const event = await stream.next();
      expect(event?.event).toBe('TurnRecorded');
      expect(seen.has(trajectoryOf(event))).toBe(false);
      seen.add(trajectoryOf(event));
    }
  });

  it('shows one run and the types that were asked for', async () => {
    await start();
    const stream = await open('?run=run-b&type=TurnRecorded&type=StepCompleted');
    await stream.next();
    await write('a.0');
    await log.writer().append([outgoing('PolicyPublished', randomEvent('PolicyPublished', seeded(1), { run_id: 'run-b' }))]);
    await write('b.0', 'run-b');
    expect(trajectoryOf(await stream.next())).toBe('b.0');
  });

  it('shares one reader of the log, which ends with the last client', async () => {
    await start();
    const [one, two] = [await open(), await open()];
    await one.next();
    await two.next();
    await write('a.0');
    expect(trajectoryOf(await one.next())).toBe('a.0');
    expect(trajectoryOf(await two.next())).toBe('a.0');
    one.close();
    await write('b.0');
    expect(trajectoryOf(await two.next())).toBe('b.0');
    two.close();
    const three = await open();
    await three.next();
    await write('c.0');
    expect(trajectoryOf(await three.next())).toBe('c.0');
  });

  it('passes over a record that cannot be read', async () => {
    await start();
    const stream = await open();
    await stream.next();
    log.appendRaw('rollouts', [{ key: 'k', value: Buffer.from('junk'), headers: {} }]);
    await write('a.0');
    expect(trajectoryOf(await stream.next())).toBe('a.0');
  });

  it('stays open while the log cannot be read', async () => {
    const reader = log.reader();
    let fail = (_error: unknown): void => undefined;
    const follow: typeof reader.follow = (options) => {
      fail = options.onError;
      return reader.follow(options);
    };
    await start({ source: { log: { ...reader, follow }, events: codecReader(log.codec) } });
    const stream = await open();
    await stream.next();
    fail(new Error('gone for a moment'));
    await write('a.0');
    expect(trajectoryOf(await stream.next())).toBe('a.0');
  });

  it('does not open while Kafka is away, and does when it is back', async () => {
    const reader = log.reader();
    let away = true;
    const bounds: typeof reader.bounds = async (topic) => {
      if (away) throw new PlatformError('KAFKA_UNAVAILABLE', 'asking at secret');
      return reader.bounds(topic);
    };
    await start({ source: { log: { ...reader, bounds }, events: codecReader(log.codec) } });
    expect(await (await fetch(`${url}/v1/live`)).json()).toMatchObject({ status: 503, code: 'KAFKA_UNAVAILABLE' });
    away = false;
    expect(await (await open()).next()).toMatchObject({ event: 'connected' });
  });

  it('closes a client whose past cannot be read', async () => {
    const reader = log.reader();
    const readToEnd: typeof reader.readToEnd = async () => Promise.reject(new Error('secret'));
    await start({ source: { log: { ...reader, readToEnd }, events: codecReader(log.codec) } });
    await write('a.0');
    const stream = await open('', { 'last-event-id': 'rollouts/0/0,rollouts/1/0,rollouts/2/0,rollouts/3/0' });
    await stream.next();
    expect(await stream.next()).toMatchObject({ event: 'closing', data: { reason: expect.not.stringContaining('secret') as string } });
  });

  it('cuts long texts', async () => {
    await start();
    const stream = await open();
    await stream.next();
    await log
      .writer()
      .append([
        outgoing(
          'TurnRecorded',
          turn({ trajectory: 'a.0', sequence: 1 }, 0, { result: 'x'.repeat(9_000), token_ids: Array.from({ length: 500 }, (_, i) => i) }),
        ),
      ]);
    const event = (await stream.next())?.data['event'] as { result: string; token_ids: unknown[] };
    expect(event.result).toHaveLength(2_000 + '… (9000 characters)'.length);
    expect(event.token_ids).toHaveLength(65);
  });

  it('says goodbye when the server stops', async () => {
    await start();
    const stream = await open();
    const hello = await stream.next();
    const closing = server.close();
    expect(await stream.next()).toMatchObject({ event: 'closing', id: hello?.id });
    expect(await stream.next()).toBeUndefined();
    await closing;
  });

  it('takes so many clients and an id of its own only', async () => {
    await start({ live: { maxClients: 1, heartbeatMs: 10 } });
    const refused = await fetch(`${url}/v1/live`, { headers: { 'last-event-id': 'nonsense' } });
    expect(await refused.json()).toMatchObject({ status: 400, code: 'REQUEST_INVALID' });
    await (await open()).next();
    expect(await (await fetch(`${url}/v1/live`)).json()).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
  });

  it('closes a client that does not read, and the others go on', async () => {
    await start({ live: { maxBufferedBytes: 200_000, heartbeatMs: 10 } });
    const slow = await open();
    const quick = await open();
    await quick.next();
    const events = Array.from({ length: 6_000 }, (_, index) =>
      outgoing('TurnRecorded', turn({ trajectory: `t${index}.0`, sequence: 1 }, 0, { text: 'x'.repeat(2_000) })),
    );
    const reading = (async () => {
      let count = 0;
      while (count < events.length) {
        const event = await quick.next();
        if (event === undefined || event.event === 'fell-behind') break;
        count += 1;
      }
      return count;
    })();
    for (let at = 0; at < events.length; at += 50) {
      await log.writer().append(events.slice(at, at + 50));
      await log.settled();
    }
    expect(await reading).toBeGreaterThan(0);
    const seen = new Set<string | undefined>();
    const last = await readAll(slow, seen);
    expect(last).toMatchObject({ event: 'fell-behind' });
    expect(last?.data['resume']).toBe(last?.id);
    expect(seen.size).toBeLessThan(events.length);
    const again = await open('', { 'last-event-id': String(last?.data['resume']) });
    await readAll(again, seen, events.length);
    expect(seen.size).toBe(events.length);
  });
});
