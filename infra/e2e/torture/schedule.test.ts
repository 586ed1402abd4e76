import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  clockJumps,
  clockTargets,
  cutModes,
  diskTargets,
  EXTERNAL_TRAINER,
  forgotten,
  ROUND,
  scheduleOf,
  tailTopics,
  targets,
} from './schedule.ts';
import type { ScheduledFault } from './schedule.ts';

const options = fc.record({
  seed: fc.nat(),
  faults: fc.integer({ min: 1, max: 200 }),
  minutes: fc.integer({ min: 1, max: 60 }),
  disks: fc.boolean(),
});
const formOf = (fault: ScheduledFault): string | number => {
  if (fault.kind === 'cut') return fault.mode;
  if (fault.kind === 'tail') return fault.topic;
  return fault.kind === 'clock' ? fault.byMs : '';
};
const nameOf = (fault: ScheduledFault): string => [fault.kind, fault.target, formOf(fault)].join(' ');
const others = ['forget', 'tail', 'retention', 'engine', 'disk', 'clock'] as const;

describe('the schedule of a torture test', () => {
  it('is a function of the seed, is sorted by time, and reserves the end for recovery', () => {
    fc.assert(
      fc.property(options, (given) => {
        const faults = scheduleOf(given);
        expect(scheduleOf(given)).toEqual(faults);
        expect(faults).toHaveLength(given.faults);
        expect(faults.map(({ atMs }) => atMs)).toEqual(faults.map(({ atMs }) => atMs).sort((a, b) => a - b));
        expect(Math.max(...faults.map(({ atMs }) => atMs))).toBeLessThan(given.minutes * 54_000);
        for (const fault of faults) expect(fault.forMs).toBeLessThanOrEqual(25_000);
        for (const { kind } of faults) if (!given.disks) expect(kind).not.toBe('disk');
      }),
    );
    const given = { faults: ROUND, minutes: 3, disks: true };
    expect(scheduleOf({ ...given, seed: 1 })).not.toEqual(scheduleOf({ ...given, seed: 2 }));
  });

  it('kills every target and injects each other fault in every round', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 8 }), (seed, rounds) => {
        const faults = scheduleOf({ seed, faults: rounds * ROUND, minutes: 20, disks: true });
        for (let round = 0; round < rounds; round += 1) {
          const names = faults.slice(round * ROUND, (round + 1) * ROUND).map(nameOf);
          for (const target of targets) expect(names).toContain(`kill ${target} `);
          expect(names.filter((name) => name.startsWith('freeze'))).toHaveLength(2);
          expect(names.filter((name) => name.startsWith('cut'))).toHaveLength(3);
          for (const kind of others) expect(names.filter((name) => name.startsWith(kind))).toHaveLength(1);
        }
      }),
    );
  });

  it('kills an external trainer once in every round, and freezes it', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const [round, rounds] = [ROUND + 1, 8];
        const faults = scheduleOf({ seed, faults: rounds * round, minutes: 20, disks: true, external: true });
        const own = faults.flatMap(({ kind, target }, i) => (target === EXTERNAL_TRAINER ? [{ kind, round: Math.floor(i / round) }] : []));
        expect(own.filter(({ kind }) => kind === 'kill').map((one) => one.round)).toEqual(Array.from({ length: rounds }, (_, i) => i));
        expect(new Set(own.map(({ kind }) => kind))).toEqual(new Set(['kill', 'freeze']));
      }),
    );
  });

  it('covers every kind of fault, target, and variant within eight rounds', () => {
    const all = [
      ...targets.flatMap((target) => [`kill ${target} `, `freeze ${target} `, ...cutModes.map((mode) => `cut ${target} ${mode}`)]),
      ...forgotten.map((target) => `forget ${target} `),
      ...tailTopics.map((topic) => `tail broker ${topic}`),
      ...['retention trainer ', 'engine store '],
      ...diskTargets.map((target) => `disk ${target} `),
      ...clockTargets.flatMap((target) => clockJumps.map((byMs) => `clock ${target} ${byMs}`)),
    ];
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const names = new Set(scheduleOf({ seed, faults: 8 * ROUND, minutes: 20, disks: true }).map(nameOf));
        expect([...names].sort()).toEqual(all.sort());
      }),
    );
  });
});
