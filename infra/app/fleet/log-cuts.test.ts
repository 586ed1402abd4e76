import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planCuts, type KeepRules, type LogKnown } from './log-cuts.ts';

const DAY = 86_400_000;
const rules: KeepRules = { nowMs: 100 * DAY, keepMs: 7 * DAY, keepBytes: Number.POSITIVE_INFINITY, keepRuns: new Set() };

/** Consecutive runs, each with 100 records in each of two partitions. */
const known = (finished: readonly (number | undefined)[]): LogKnown => ({
  runs: finished.map((day, index) => ({ runId: `run-${index}`, finishedAtMs: day === undefined ? undefined : day * DAY })),
  starts: new Map(finished.map((_day, i) => [`run-${i}`, { training: 0, policies: 0, rollouts: [i * 100, i * 100], tasks: [i * 100] }])),
  partitions: [
    { topic: 'rollouts', partition: 0, first: 0, end: finished.length * 100, stored: finished.length * 100 },
    { topic: 'rollouts', partition: 1, first: 0, end: finished.length * 100, stored: finished.length * 100 - 10 },
    { topic: 'tasks', partition: 0, first: 0, end: finished.length * 100, stored: finished.length * 100 },
  ],
  bytes: finished.length * 1_000,
});

describe('the part of the log that may be removed', () => {
  it('is empty while runs are recent or unfinished, or an earlier run is kept', () => {
    expect(planCuts(known([95, 99]), rules)).toEqual({ cuts: [], released: [] });
    expect(planCuts(known([undefined, undefined]), rules).cuts).toEqual([]);
    expect(planCuts(known([undefined, 10]), rules)).toEqual({ cuts: [], released: ['run-1'] });
    expect(planCuts(known([10, 20]), { ...rules, keepRuns: new Set(['run-0']) }).cuts).toEqual([]);
    expect(planCuts(known([10, 20]), { ...rules, keepMs: Number.POSITIVE_INFINITY }).cuts).toEqual([]);
  });

  it('has the records of old finished runs, up to the first run that is kept', () => {
    expect(planCuts(known([10, 20, 99, undefined]), rules)).toEqual({
      released: ['run-0', 'run-1'],
      cuts: [
        { topic: 'rollouts', partition: 0, offset: 200 },
        { topic: 'rollouts', partition: 1, offset: 200 },
        { topic: 'tasks', partition: 0, offset: 200 },
      ],
    });
  });

  it('ends at the last record that is in the tables', () => {
    expect(planCuts(known([10]), rules).cuts.map(({ offset }) => offset)).toEqual([100, 90, 100]);
  });

  it('begins with the run that finished first when the log is too large, and is no larger than needed', () => {
    const large = { ...rules, keepBytes: 2_500 };
    expect(planCuts(known([97, 98, 99, undefined]), large).released).toEqual(['run-0', 'run-1']);
    expect(planCuts(known([97, 98]), large).released).toEqual([]);
    expect(planCuts(known([undefined, undefined, undefined, undefined]), large)).toEqual({ cuts: [], released: [] });
  });

  it('never has a record of a run that has not reached the tables, or whose start is unknown', () => {
    const base = known([10, 20]);
    const running = {
      ...base,
      starts: new Map([...base.starts, ['new', { training: 0, policies: 0, rollouts: [150, 120], tasks: [50] }]]),
    };
    expect(planCuts(running, rules).cuts.map(({ offset }) => offset)).toEqual([150, 120, 50]);
    for (const start of [
      { training: 0, policies: 0 },
      { training: 0, policies: 0, rollouts: [], tasks: [] },
    ])
      expect(planCuts({ ...base, starts: new Map([...base.starts, ['older', start]]) }, rules).cuts).toEqual([]);
    expect(planCuts({ ...base, runs: [...base.runs, { runId: 'load', finishedAtMs: undefined }] }, rules).cuts).toEqual([]);
    expect(planCuts({ runs: [], starts: new Map(), partitions: [], bytes: 0 }, { ...rules, keepBytes: 0 })).toEqual({
      cuts: [],
      released: [],
    });
  });

  it('never has a record of a kept run, for any runs, overlaps and rules', () => {
    const run = fc.record({
      finished: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
      begins: fc.array(fc.nat(1_000), { minLength: 2, maxLength: 2 }),
      noted: fc.boolean(),
      inTables: fc.boolean(),
      named: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(run, { maxLength: 8 }),
        fc.record({ days: fc.nat(100), bytes: fc.nat(10_000), first: fc.nat(300), stored: fc.nat(1_000) }),
        (runs, { days, bytes, first, stored }) => {
          const partitions = [0, 1].map((partition) => ({ topic: 'rollouts' as const, partition, first, end: 1_000, stored }));
          const all = runs.map((one, index) => ({
            ...one,
            runId: `r${index}`,
            finishedAtMs: one.finished === undefined ? undefined : one.finished * DAY,
          }));
          const starts = new Map(
            all.filter(({ noted }) => noted).map(({ runId, begins }) => [runId, { training: 0, policies: 0, rollouts: begins }] as const),
          );
          const inTables = all.filter((one) => one.inTables);
          const keep = { nowMs: 100 * DAY, keepMs: days * DAY, keepBytes: bytes };
          const named = new Set(all.filter((one) => one.named).map(({ runId }) => runId));
          const { cuts, released } = planCuts({ runs: inTables, starts, partitions, bytes: 10_000 }, { ...keep, keepRuns: named });
          const mayGo = all.filter((one) => one.inTables && !one.named && one.finishedAtMs !== undefined).map(({ runId }) => runId);
          expect(mayGo).toEqual(expect.arrayContaining([...released]));
          const kept = all.filter((one) => (one.inTables || one.noted) && !released.includes(one.runId));
          for (const { noted, begins } of kept)
            for (const { partition, offset } of cuts) expect(offset).toBeLessThanOrEqual(noted ? (begins[partition] ?? 0) : 0);
          for (const { offset } of cuts) expect(offset > first && offset <= stored).toBe(true);
        },
      ),
    );
  });
});
