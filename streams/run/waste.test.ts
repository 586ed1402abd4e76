import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fateOf, judgeWaste, windowOf, type GroupFate, type WasteVerdict } from './waste.ts';

const rules = { batchGroups: 8, maxDiscarded: 0.95 };
const times = (count: number, fate: GroupFate): GroupFate[] => Array.from({ length: count }, () => fate);
const judged = (recent: readonly GroupFate[], more: Partial<typeof rules> = {}, idleSteps = 0): WasteVerdict =>
  judgeWaste({ recent, decided: { size: 0 }, idleSteps }, { ...rules, ...more });

describe('whether a run is worth continuing', () => {
  it.each([
    ['nothing closed', [], 'fine'],
    ['too little to judge', times(63, 'stale'), 'fine'],
    ['all kept', times(64, ''), 'fine'],
    ['half discarded', [...times(32, 'uniform_group'), ...times(32, '')], 'fine'],
    ['most discarded', [...times(33, 'uniform_group'), ...times(31, '')], 'wasteful'],
    ['old groups do not count', [...times(200, 'stale'), ...times(64, '')], 'fine'],
    ['all stale', times(64, 'stale'), 'hopeless'],
    ['fifteen unfinished', times(15, 'incomplete'), 'fine'],
    ['sixteen unfinished', times(16, 'incomplete'), 'hopeless'],
    ['one of them was uniform', [...times(15, 'incomplete'), 'uniform_group' as const], 'fine'],
  ] as const)('%s: %#', (_name, recent, kind) => {
    expect(judged(recent).kind).toBe(kind);
  });
  it('counts groups that wait for a full batch as kept, because hard questions fill one slowly', () => {
    const verdict = (discarded: number, ready: number): string =>
      judgeWaste({ recent: [...times(64, ''), ...times(discarded, 'uniform_group')], decided: { size: ready }, idleSteps: 0 }, rules).kind;
    expect([0, 3, 4, 63, 64].map((ready) => verdict(64, ready))).toEqual(['hopeless', 'hopeless', 'wasteful', 'wasteful', 'fine']);
    expect([76, 77, 1_000].map((discarded) => verdict(discarded, 4))).toEqual(['wasteful', 'hopeless', 'hopeless']);
  });
  it('reports how much is discarded and why, most frequent reason first', () => {
    expect(judged([...times(20, 'uniform_group'), ...times(44, 'stale')])).toEqual({
      kind: 'hopeless',
      reason: 'mostly_discarded',
      waste: {
        groups: 64,
        discarded: 64,
        reasons: [
          ['stale', 44],
          ['uniform_group', 20],
        ],
      },
    });
    expect(judged(times(16, 'incomplete'))).toMatchObject({ reason: 'nothing_finished', waste: { groups: 16, discarded: 16 } });
  });
  it('ends after steps that change nothing', () => {
    expect(judged([], {}, 2).kind).toBe('fine');
    expect(judged([], {}, 3)).toMatchObject({ kind: 'hopeless', reason: 'nothing_learned' });
  });
  it('never ends a run that may discard all', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<GroupFate>('', 'stale', 'incomplete')), fc.nat(9), (recent, idle) => {
        expect(judged(recent, { maxDiscarded: 1 }, idle).kind).not.toBe('hopeless');
      }),
    );
  });
  it('looks back over four batches, and never ends a run that keeps more than its share', () => {
    expect([windowOf({ batchGroups: 1 }), windowOf({ batchGroups: 100 }), windowOf({ batchGroups: 4_096 })]).toEqual([64, 400, 1_024]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 0, max: 64 }), (batchGroups, kept) => {
        const window = windowOf({ batchGroups });
        const recent = [...times(window - Math.min(kept, window), 'stale'), ...times(Math.min(kept, window), '')];
        const verdict = judged(recent, { batchGroups });
        expect(verdict.kind === 'hopeless').toBe((window - Math.min(kept, window)) / window > 0.95);
      }),
    );
  });
  it('treats reasons of single attempts as a group that did not finish', () => {
    expect(['uniform_group', 'stale', 'incomplete', 'expired', 'lost', 'invalid'].map(fateOf)).toEqual([
      ...['uniform_group', 'stale', 'incomplete', 'incomplete', 'incomplete', 'incomplete'],
    ]);
  });
});
