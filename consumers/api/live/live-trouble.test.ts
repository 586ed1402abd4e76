import { describe, expect, it } from 'vitest';
import { outgoing, randomEvent, seeded } from '../../../infra/testing/events.ts';
import type { EventStream } from '../../../infra/testing/event-stream.ts';
import { type ServerSentEvent } from '../../../infra/testing/event-stream.ts';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { turn } from '../../../infra/testing/rollout-events.ts';
import { log, open, server, setUpLive, start, trajectoryOf, url, write } from './live.testing.ts';

setUpLive();

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

describe('GET /v1/live during failures', () => {
  it('starts without checking the run while the store is unavailable', async () => {
    const store = createFakeStore(() => {
      throw new PlatformError('STORE_UNAVAILABLE', 'asking');
    });
    await start({ store });
    expect(await (await open('?run=run-a')).next()).toMatchObject({ event: 'connected' });
  });

  it('skips a record that cannot be decoded', async () => {
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

  it('does not open while Kafka is unavailable, and opens when it is back', async () => {
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

  it('closes a client whose missed events cannot be read', async () => {
    const reader = log.reader();
    const readToEnd: typeof reader.readToEnd = async () => Promise.reject(new Error('secret'));
    await start({ source: { log: { ...reader, readToEnd }, events: codecReader(log.codec) } });
    await write('a.0');
    const stream = await open('', { 'last-event-id': 'rollouts/0/0,rollouts/1/0,rollouts/2/0,rollouts/3/0' });
    await stream.next();
    expect(await stream.next()).toMatchObject({ event: 'closing', data: { reason: expect.not.stringContaining('secret') as string } });
  });

  it('reads missed events only in the topics of the selected types', async () => {
    const reader = log.reader();
    const asked: string[] = [];
    const readToEnd: typeof reader.readToEnd = async (topic, options) => {
      asked.push(topic);
      return reader.readToEnd(topic, options);
    };
    await start({ source: { log: { ...reader, readToEnd }, events: codecReader(log.codec) } });
    await write('a.0');
    await log.writer().append([outgoing('StepCompleted', randomEvent('StepCompleted', seeded(1), { run_id: 'run-a' }))]);
    const beginnings = ['rollouts', 'training'].flatMap((topic) => [0, 1, 2, 3].map((partition) => `${topic}/${partition}/0`));
    const stream = await open('?type=StepCompleted', { 'last-event-id': beginnings.join(',') });
    await stream.next();
    expect(await stream.next()).toMatchObject({ event: 'StepCompleted' });
    expect(asked).toEqual(['training']);
  });

  it('sends a closing event when the server stops', async () => {
    await start();
    const stream = await open();
    const hello = await stream.next();
    const closing = server.close();
    expect(await stream.next()).toMatchObject({ event: 'closing', id: hello?.id });
    expect(await stream.next()).toBeUndefined();
    await closing;
  });

  it('limits the number of clients, and accepts only an id of this stream', async () => {
    await start({ live: { maxClients: 1, heartbeatMs: 10 } });
    const refused = await fetch(`${url}/v1/live`, { headers: { 'last-event-id': 'nonsense' } });
    expect(await refused.json()).toMatchObject({ status: 400, code: 'REQUEST_INVALID' });
    await (await open()).next();
    expect(await (await fetch(`${url}/v1/live`)).json()).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
  });

  it('closes a client that does not read, which can resume, and serves the others', async () => {
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
      await log.idle();
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
