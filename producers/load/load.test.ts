import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TurnRecorded } from '../../schemas/generated/events.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { groupIdOf } from '../../streams/core/ids.ts';
import type { LoadOptions } from './load.ts';
import { defaultShape, lengthOf, MOST_TURNS } from './shape.ts';
import { codec, eventsOf, faultless, optionsFor, storiesOf } from './load.testing.ts';

describe('a synthetic load', () => {
  it('is the same for the same options, and another one for another seed', () => {
    const text = (options: LoadOptions): string =>
      eventsOf(options)
        .map(({ type, event }) => codec.encode(type as 'TurnRecorded', event as TurnRecorded).toString('base64'))
        .join();
    expect(text(optionsFor())).toBe(text(optionsFor()));
    expect(text(optionsFor({ seed: 2 }))).not.toBe(text(optionsFor()));
  });

  it('has only events that fit their schemas, with times that never go back', () => {
    const shape = fc.record({
      meanTurns: fc.double({ min: 1, max: 60, noNaN: true }),
      turnBytes: fc.integer({ min: 1, max: 20_000 }),
      faults: fc.double({ min: 0, max: 0.5, noNaN: true }),
      groupSize: fc.integer({ min: 1, max: 9 }),
      maxTurns: fc.integer({ min: 1, max: 128 }),
      maxTokens: fc.integer({ min: 1, max: 5_000 }),
      decision: fc.option(fc.record({ candidates: fc.integer({ min: 1, max: 9 }), width: fc.integer({ min: 1, max: 5 }) })),
    });
    fc.assert(
      fc.property(shape, fc.nat(), fc.integer({ min: 1, max: 40 }), (changes, seed, places) => {
        let last = 0;
        for (const { type, key, event } of eventsOf(
          optionsFor({ shape: { ...defaultShape, ...changes }, seed, places, trajectories: 12 }),
        )) {
          const read = codec.decode(codec.encode(type as 'TurnRecorded', event as TurnRecorded));
          expect(read).toMatchObject({ ok: true, value: { type } });
          expect(event.occurred_at).toBeGreaterThanOrEqual(last);
          last = event.occurred_at;
          if (type === 'TurnRecorded') expect(key).toBe(groupIdOf(event.trajectory_id));
        }
      }),
      { numRuns: 25 },
    );
  });

  it('has no missing or repeated events in an attempt without faults', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 30 }), (seed, places) => {
        const stories = storiesOf(eventsOf(optionsFor({ shape: faultless, seed, places })));
        expect(stories.size).toBe(40);
        for (const { sequences, turns, finished, request } of stories.values()) {
          expect(sequences).toEqual(sequences.map((_, at) => at));
          expect(finished).toMatchObject({ turns: turns.length, sequence: turns.length + 1, question: request?.question });
          expect(finished?.completion_tokens).toBe(turns.reduce((sum, turn) => sum + turn.completion_tokens, 0));
          expect(turns.every(({ status }) => status === 'ok' || status === 'timeout')).toBe(true);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('breaks some attempts when faults are configured, and requests them again', () => {
    const events = eventsOf(optionsFor({ shape: { ...defaultShape, faults: 0.3 }, trajectories: 400 }));
    const stories = [...storiesOf(events).values()];
    const ended = stories.filter(({ finished }) => finished !== undefined);
    const statuses = new Set(ended.map(({ finished }) => finished?.status));
    expect(statuses).toContain('cancelled');
    expect(statuses).toContain('failed');
    expect(stories.length).toBeGreaterThan(ended.length);
    const torn = ended.filter(({ sequences }) => new Set(sequences).size !== Math.max(...sequences) + 1);
    expect(torn.length).toBeGreaterThan(0);
    expect(stories.filter(({ sequences }) => new Set(sequences).size < sequences.length).length).toBeGreaterThan(0);
    expect(Math.max(...stories.map(({ request }) => request?.attempt ?? 0))).toBe(defaultShape.maxAttempts - 1);
    const turns = stories.flatMap((story) => story.turns);
    expect(new Set(turns.map(({ status }) => status))).toEqual(new Set(['ok', 'error', 'timeout']));
  });

  it('leaves the first trajectories without an end, and finishes the rest', () => {
    const stories = [...storiesOf(eventsOf(optionsFor({ shape: faultless, open: 11 })))];
    const unfinished = stories.filter(([, { finished }]) => finished === undefined).map(([id]) => id);
    expect(unfinished).toEqual(
      [...Array(8).keys()]
        .map((n) => `synthetic-test-g000000.${n}/0`)
        .concat([...Array(3).keys()].map((n) => `synthetic-test-g000001.${n}/0`)),
    );
    for (const [, { turns }] of stories) expect(turns.length).toBeGreaterThan(0);
  });

  it('ends with the group in which the wanted number of turns is reached', () => {
    const turns = (events: readonly OutgoingEvent[]): number => events.filter(({ type }) => type === 'TurnRecorded').length;
    const wanted = 500;
    const events = eventsOf(optionsFor({ shape: faultless, turns: wanted, trajectories: Infinity }));
    expect(turns(events)).toBeGreaterThanOrEqual(wanted);
    expect(turns(events)).toBeLessThan(wanted + 8 * defaultShape.maxTurns);
    expect(events.filter(({ type }) => type === 'TrajectoryRequested').length % 8).toBe(0);
  });

  it('makes trajectories of any length', () => {
    const shape = { ...faultless, ...lengthOf(20_000), groupSize: 1, turnsSigma: 0 };
    const events = eventsOf(optionsFor({ shape, trajectories: 1 }));
    expect(events.filter(({ type }) => type === 'TurnRecorded')).toHaveLength(20_000);
    const [ended] = events.flatMap(({ type, event }) => (type === 'TrajectoryFinished' ? [event] : []));
    expect(ended).toMatchObject({ status: 'answered', turns: 20_000 });
    const last = events.findLast(({ type }) => type === 'TurnRecorded');
    expect(() => codec.encode('TurnRecorded', last?.event as never)).not.toThrow();
  });

  it('has the default limits for means up to the default turn limit, and bounds all others', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: MOST_TURNS, noNaN: true }), fc.option(fc.integer({ min: 1, max: MOST_TURNS })), (mean, max) => {
        const { maxTurns, maxTokens } = lengthOf(mean, max ?? undefined);
        expect(maxTurns).toBeLessThanOrEqual(MOST_TURNS);
        expect(maxTurns).toBeGreaterThanOrEqual(max ?? Math.min(mean, MOST_TURNS));
        // The prompt of the last turn is up to 1.5 times as long and must fit into a 32-bit int.
        expect(400 + 1.5 * maxTokens).toBeLessThan(2 ** 31);
        if (max === null && mean <= 128) expect({ maxTurns, maxTokens }).toEqual({ maxTurns: 128, maxTokens: 200_000 });
      }),
    );
  });

  it('marks its questions and workers as synthetic, and its purpose as external', () => {
    for (const { type, event } of eventsOf(optionsFor({ trajectories: 8 }))) {
      if (type === 'TrajectoryRequested' || type === 'TrajectoryFinished') expect(event.question).toContain('Synthetic');
      if ('worker_id' in event) expect(event.worker_id).toMatch(/^synthetic-/);
      if ('question_id' in event) expect(event.question_id).toMatch(/^synthetic-/);
      if ('purpose' in event) expect(event.purpose).toBe('external');
    }
  });
});
