import { describe, expect, it } from 'vitest';
import { endingText, type Ended } from './ending.ts';

const ended: Ended = {
  ...{ reason: 'steps_reached', isTrained: true, steps: 5, batches: 0, version: 5 },
  ...{ admitted: 60, trained: 40, collected: 0, discarded: 12, open: 8 },
};
const collected: Ended = { ...ended, reason: 'collected', isTrained: false, steps: 0, batches: 1, version: 7, trained: 0, collected: 40 };

describe('the summary of a run', () => {
  it('states its steps, or its batches and the versions of the model', () => {
    expect(endingText(ended)).toBe('Made 5 steps: trained on 40 of 60 trajectories, discarded 12, left 8 open.');
    expect(endingText({ ...ended, steps: 1, trained: 0, admitted: 1 })).toBe(
      'Made 1 step: trained on 0 of 1 trajectory, discarded 12, left 8 open.',
    );
    expect(endingText(collected)).toBe(
      'Collected 1 batch: kept 40 of 60 trajectories, discarded 12, left 8 open. Made no step, because the trainer does not make this policy. The newest version that the model named is 7.',
    );
    expect(endingText({ ...collected, batches: 2, version: -1 })).toMatch(
      /^Collected 2 batches: .* The model named no version of its weights\.$/,
    );
  });
  it('begins with the reason why it was not worth continuing', () => {
    const waste = {
      groups: 64,
      discarded: 62,
      reasons: [
        ['stale', 60],
        ['uniform_group', 2],
      ],
    } as const;
    expect(endingText({ ...ended, reason: 'mostly_discarded', waste })).toMatch(
      /^Stopped asking: 62 of the last 64 groups were discarded \(stale 60, uniform_group 2\)\. Stale ones are older [^.]*\. Made 5 steps/,
    );
    const mixed = {
      ...waste,
      reasons: [
        ['uniform_group', 32],
        ['stale', 30],
      ],
    } as const;
    expect(endingText({ ...ended, reason: 'mostly_discarded', waste: mixed })).toMatch(/All answers to a question .* Stale ones are older/);
    const none = { groups: 16, discarded: 16, reasons: [['incomplete', 16]] } as const;
    expect(endingText({ ...collected, reason: 'nothing_finished', waste: none })).toMatch(
      /^Stopped asking: none of the last 16 groups finished\. The column error .* Collected 1 batch/,
    );
    expect(endingText({ ...ended, reason: 'nothing_learned' })).toMatch(
      /^Stopped asking: the last steps left the weights as they were\. Made 5/,
    );
    expect(endingText({ ...ended, reason: 'mostly_discarded' })).toMatch(/^Stopped asking: 0 of the last 0 groups/);
  });
});
