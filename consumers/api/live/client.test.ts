import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLiveClient, type LiveFilter } from './client.ts';
import type { LiveBatch } from './follower.ts';
import { liveTopics } from './follower.ts';
import { parsePositions, LivePositions } from './positions.ts';

/** A wire that records what is written; after `takes` frames it accepts no more until `drain`. */
function wire(takes = Infinity) {
  const texts: string[] = [];
  let room = takes;
  let drained = (): void => undefined;
  let closed = (): void => undefined;
  const made = {
    texts,
    ended: false,
    write: (text: string) => {
      texts.push(text);
      return (room -= 1) > 0;
    },
    onDrain: (listener: () => void) => {
      drained = listener;
    },
    onClose: (listener: () => void) => {
      closed = listener;
    },
    end: () => {
      made.ended = true;
    },
    drain: (frames: number) => {
      room = frames;
      drained();
    },
    close: () => {
      closed();
    },
  };
  return made;
}

const batch = (
  offset: number,
  options: Partial<{ type: 'TurnRecorded' | 'StepCompleted'; run: string; partition: number }> = {},
): LiveBatch => {
  const { type = 'TurnRecorded', run = 'run-a', partition = 0 } = options;
  const record = { topic: 'rollouts', partition, offset } as const;
  return {
    topic: 'rollouts',
    partition,
    firstOffset: offset,
    nextOffset: offset + 1,
    events: [{ record, type, runId: run, data: `{"offset":${offset}}` }],
  };
};

function client(filter: LiveFilter = { types: [] }, to = wire()) {
  const made = createLiveClient({ wire: to, filter, maxBufferedBytes: 1_000, patienceMs: 20 });
  made.startAt([{ topic: 'rollouts', partition: 0, offset: 5 }]);
  return { made, to };
}
const offsetsOf = (texts: readonly string[]): number[] => texts.flatMap((text) => /"offset":(\d+)/.exec(text)?.[1] ?? []).map(Number);

describe('a live client', () => {
  it('sends a hello event, then new events, each with the positions to resume from', () => {
    const { made, to } = client();
    made.goLive();
    made.receive(batch(5));
    made.heartbeat();
    expect(to.texts).toEqual([
      'id: rollouts/0/5\nevent: connected\ndata: {"resume":"rollouts/0/5"}\n\n',
      'id: rollouts/0/6\nevent: TurnRecorded\ndata: {"offset":5}\n\n',
      ': alive\n\n',
    ]);
  });

  it('holds live batches back until the missed events are sent, and sends no event twice', async () => {
    const { made, to } = client();
    made.receive(batch(7));
    await made.catchUp(batch(5));
    await made.catchUp(batch(6));
    await made.catchUp(batch(7));
    made.receive(batch(8));
    expect(offsetsOf(to.texts)).toEqual([5, 6, 7]);
    made.goLive();
    made.receive(batch(9));
    expect(offsetsOf(to.texts)).toEqual([5, 6, 7, 8, 9]);
  });

  it('sends the events that its filter selects, and moves past the others', () => {
    const { made, to } = client({ run: 'run-b', types: ['StepCompleted'] });
    made.goLive();
    made.receive(batch(5));
    made.receive(batch(6, { run: 'run-b' }));
    made.receive(batch(7, { type: 'StepCompleted' }));
    made.receive(batch(8, { type: 'StepCompleted', run: 'run-b' }));
    expect(offsetsOf(to.texts)).toEqual([8]);
    expect(to.texts.at(-1)).toContain('id: rollouts/0/9\n');
  });

  it('moves past markers that hold no event', () => {
    const { made, to } = client();
    made.goLive();
    made.receive({ topic: 'training', partition: 0, firstOffset: 3, nextOffset: 4, events: [] });
    made.receive(batch(5));
    expect(to.texts.at(-1)).toContain('id: rollouts/0/6,training/0/4\n');
  });

  it('that falls behind is told so at once, after its last event, and is closed', () => {
    const { made, to } = client({ types: [] }, wire(3));
    made.goLive();
    let offset = 5;
    while (made.open()) made.receive(batch(offset++));
    expect(offset).toBeGreaterThan(10);
    expect(offsetsOf(to.texts)).toEqual([5, 6]);
    expect(to.texts).toHaveLength(4);
    expect(to.texts.at(-1)).toMatch(/^id: rollouts\/0\/7\nevent: fell-behind\n/);
    expect(to.texts.at(-1)).toContain('"resume":"rollouts/0/7"');
    expect(to.ended).toBe(true);
    made.receive(batch(offset));
    made.heartbeat();
    made.finish('again');
    to.drain(100);
    expect(to.texts).toHaveLength(4);
  });

  it('gets whole events without a gap up to the position where it must resume, at any pace of reading', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 60 }), (first, reading) => {
        const { made, to } = client({ types: [] }, wire(first));
        made.goLive();
        let offset = 5;
        for (const frames of reading) {
          made.receive(batch(offset++));
          if (frames > 0) to.drain(frames);
        }
        if (made.open()) made.finish('the test is over');
        const given = offsetsOf(to.texts);
        expect(given).toEqual(given.map((_, index) => 5 + index));
        expect(to.texts.at(-1)).toContain(`"resume":"rollouts/0/${5 + given.length}"`);
      }),
    );
  });

  it('gets no heartbeats while events wait to be sent', () => {
    const { made, to } = client({ types: [] }, wire(1));
    made.goLive();
    made.receive(batch(5));
    made.heartbeat();
    made.heartbeat();
    to.drain(10);
    expect(to.texts).toHaveLength(2);
  });

  it('gets its positions with a heartbeat when only events outside its filter pass', () => {
    const { made, to } = client({ run: 'run-b', types: [] });
    made.goLive();
    made.receive(batch(5));
    made.heartbeat();
    made.heartbeat();
    expect(to.texts.slice(1)).toEqual([': alive\nid: rollouts/0/6\n\n', ': alive\n\n']);
  });

  it('is told of events that the log no longer has', () => {
    const { made, to } = client();
    made.skip({ topic: 'rollouts', partition: 0, offset: 9 });
    expect(to.texts.at(-1)).toContain('event: gap');
    expect(to.texts.at(-1)).toContain('"from":5');
    expect(made.where()).toEqual([{ topic: 'rollouts', partition: 0, offset: 9 }]);
  });

  it('that reads nothing while it catches up is closed as well', async () => {
    const { made, to } = client({ types: [] }, wire(1));
    for (let offset = 5; made.open(); offset += 1) await made.catchUp(batch(offset));
    expect(to.texts.at(-1)).toContain('event: fell-behind');
    await made.catchUp(batch(100));
    expect(to.texts).toHaveLength(2);
    expect(to.texts.at(-1)).toContain('"resume":"rollouts/0/5"');
  });

  it('that leaves while it catches up is not waited for', async () => {
    const to = wire(1);
    const made = createLiveClient({ wire: to, filter: { types: [] }, maxBufferedBytes: 10, patienceMs: 1_000_000 });
    made.startAt([{ topic: 'rollouts', partition: 0, offset: 5 }]);
    const catching = made.catchUp(batch(5));
    to.close();
    await catching;
    expect(made.open()).toBe(false);
  });

  it('gets every event once and in order, however many it missed and however many are written meanwhile', async () => {
    const count = fc.integer({ min: 0, max: 20 });
    await fc.assert(
      fc.asyncProperty(count, count, fc.integer({ min: 200, max: 4_000 }), async (missed, meanwhile, maxBufferedBytes) => {
        const to = wire();
        const made = createLiveClient({ wire: to, filter: { types: [] }, maxBufferedBytes });
        made.startAt([{ topic: 'rollouts', partition: 0, offset: 5 }]);
        let end = 5 + missed;
        let coming = meanwhile;
        do {
          made.hold();
          const until = end;
          for (let offset = made.where()[0]!.offset; offset < until; offset += 1) {
            await made.catchUp(batch(offset));
            if (coming-- > 0) made.receive(batch(end++));
          }
        } while (!made.goLive());
        made.receive(batch(end++));
        expect(offsetsOf(to.texts)).toEqual(Array.from({ length: end - 5 }, (_, index) => 5 + index));
      }),
    );
  });
});

describe('positions', () => {
  it('are parsed back from their id', () => {
    const position = fc.record({
      topic: fc.constantFrom(...liveTopics),
      partition: fc.integer({ min: 0, max: 1023 }),
      offset: fc.integer({ min: 0, max: 10 ** 14 }),
    });
    fc.assert(
      fc.property(fc.uniqueArray(position, { minLength: 1, selector: ({ topic, partition }) => `${topic}/${partition}` }), (positions) => {
        expect(parsePositions(new LivePositions(positions).toId(), liveTopics)).toEqual(positions);
      }),
    );
  });

  it.each(['x', 'rollouts/0', 'rollouts/0/-1', 'nothing/0/1', 'rollouts/0/1,', 'rollouts/0/1;training/0/1', 'rollouts/a/1'])(
    '%s are refused',
    (id) => {
      expect(() => parsePositions(id, liveTopics)).toThrow(expect.objectContaining({ code: 'REQUEST_INVALID' }));
    },
  );
});
