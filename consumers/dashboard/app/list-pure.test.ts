import { describe, expect, it } from 'vitest';
import { fitsTail, hold, KEPT_EVENTS, liveTypes, nothingHeld, summaryOf, typesIn, type LiveEvent } from './data/live-shapes.ts';
import { keyAfter } from './kit/window.ts';
import { placesFor } from './shell/places.ts';

describe('live events', () => {
  const event = (offset: number): LiveEvent => ({
    ...{ id: '', type: 'RunRewound', timestamp_ms: 0, topic: 't', partition: 0, offset },
    event: { version: 9, to_version: 2, reason: 'diverged' },
  });

  it('are all counted while they are held, and the newest are kept', () => {
    const count = 3 * KEPT_EVENTS;
    const held = Array.from({ length: count }, (_, at) => event(at)).reduce(hold, nothingHeld);
    expect([held.count, held.newest.length]).toEqual([count, KEPT_EVENTS]);
    expect([held.newest[0]?.offset, held.newest.at(-1)?.offset]).toEqual([count - KEPT_EVENTS, count - 1]);
    expect(nothingHeld).toEqual({ count: 0, newest: [] });
  });

  it('are listed by run, and by parts of the names of their worker and tool', () => {
    const one = { ...event(1), event: { run_id: 'a', worker_id: 'worker-1', tool: 'search' } };
    const none = { run: undefined, worker: undefined, tool: undefined };
    expect([none, { ...none, run: 'a' }, { run: 'a', worker: '-1', tool: 'sea' }].map((filter) => fitsTail(one, filter))).toEqual([
      true,
      true,
      true,
    ]);
    for (const other of [{ run: 'b' }, { worker: '2' }, { tool: 'x' }]) expect(fitsTail(one, { ...none, ...other })).toBe(false);
    expect(fitsTail(event(1), { ...none, tool: 'x' })).toBe(false);
  });

  it('are of the types that the address names, and never of unknown ones', () => {
    expect(typesIn('RunRewound,Nothing,DeadLettered,RunRewound')).toEqual(['RunRewound', 'DeadLettered']);
    const usual = liveTypes.filter((type) => !['WorkerHeartbeat', 'TrajectoryRequested'].includes(type));
    expect([typesIn(undefined), typesIn(''), typesIn('Nothing')]).toEqual([usual, usual, usual]);
  });

  it('are summarized by the fields of their type', () => {
    expect(summaryOf(event(1))).toBe('version 9, to version 2, reason diverged');
    const step = { type: 'StepCompleted', event: { step: 12_345, version_after: 12_346 } };
    expect(summaryOf({ ...event(1), ...step })).toBe('step 12345, version after 12346');
    const attached = { type: 'RewardAttached', event: { name: 'judge', value: 0.123456, source: '', turn: 0 } };
    expect(summaryOf({ ...event(1), ...attached })).toBe('name judge, value 0.1235, turn 0');
  });
});

it('a selected row stays selected when rows are added above it, and the selection stays in the list', () => {
  const keys = ['b', 'c', 'd'];
  expect([keyAfter(keys, undefined, 1), keyAfter(keys, undefined, -1), keyAfter(keys, 'gone', 1)]).toEqual(['b', 'b', 'b']);
  expect([keyAfter(keys, 'c', 1), keyAfter(keys, 'd', 1), keyAfter(keys, 'b', -1)]).toEqual(['d', 'd', 'b']);
  expect(keyAfter(['a', ...keys], 'c', 1)).toBe('d');
  expect(keyAfter([], 'c', 1)).toBeUndefined();
});

describe('the palette', () => {
  const known = { run: 'a', runs: ['a', ...Array.from({ length: 30 }, (_, at) => `exp-1${at}`)] };
  const names = (typed: string): readonly string[] => placesFor(typed, known).map(({ name }) => name);

  it('offers a run that is not among the known ones, below what matches', () => {
    expect(placesFor('exp-1', known)).toHaveLength(20);
    expect(placesFor('exp-1', known).at(-1)).toEqual({ name: 'Run exp-1', to: '/runs/exp-1' });
    expect(names('ledger')[0]).toBe('Ledger of a');
    expect(names('ledger').at(-1)).toBe('Run ledger');
  });

  it('offers a run once, and only by a possible name', () => {
    expect(names('exp-129').filter((name) => name === 'Run exp-129')).toHaveLength(1);
    expect(names('a')).not.toContain('Run a');
    for (const typed of ['', 'Exp 1', 'exp_1', '-exp', 'x'.repeat(64)]) expect(names(typed)).not.toContain(`Run ${typed}`);
  });
});
