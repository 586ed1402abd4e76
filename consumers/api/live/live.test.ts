import { describe, expect, it } from 'vitest';
import { outgoing, randomEvent, seeded } from '../../../infra/testing/events.ts';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { turn } from '../../../infra/testing/rollout-events.ts';
import { log, open, setUpLive, start, trajectoryOf, url, write } from './live.testing.ts';

setUpLive();

describe('GET /v1/live', () => {
  it('returns 404 for an unknown run, and only headers for HEAD', async () => {
    await start();
    const refused = await fetch(`${url}/v1/live?run=nope`);
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    const head = await fetch(`${url}/v1/live`, { method: 'HEAD' });
    expect({ status: head.status, type: head.headers.get('content-type') }).toMatchObject({
      status: 200,
      type: expect.stringContaining('text/event-stream') as string,
    });
  });

  it('streams what is written from now on, with the number of bytes in place of bytes', async () => {
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

  it('resumes at the position of a client, and misses nothing in between', async () => {
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

  it('resumes from a query parameter too, and reports events that the log no longer has', async () => {
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

  it('sends a client all of the many events that it missed, at the pace at which it reads', async () => {
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

  it('streams only the run and the types that were asked for', async () => {
    await start();
    const stream = await open('?run=run-b&type=TurnRecorded&type=StepCompleted');
    await stream.next();
    await write('a.0');
    await log.writer().append([outgoing('PolicyPublished', randomEvent('PolicyPublished', seeded(1), { run_id: 'run-b' }))]);
    await write('b.0', 'run-b');
    expect(trajectoryOf(await stream.next())).toBe('b.0');
  });

  it('shares one reader of the log, which closes with the last client', async () => {
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
});
