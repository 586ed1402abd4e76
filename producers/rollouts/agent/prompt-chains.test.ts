import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PromptChains, type PlacedPrompt } from './prompt-chains.ts';

interface ModelCall {
  readonly prompt: readonly number[];
  readonly completion: readonly number[];
}

/** The prompt that a reader reconstructs from the records. */
function rebuilt(placed: readonly PlacedPrompt[], calls: readonly ModelCall[], turn: number): readonly number[] {
  const { branch_parent: parent, prompt_keep: keep, prompt_ids: ids } = placed[turn]!;
  if (parent < 0) return ids;
  return [...rebuilt(placed, calls, parent), ...calls[parent]!.completion].slice(0, keep).concat(ids);
}

const ids = fc.array(fc.nat(2), { maxLength: 4 });
/** Each prompt continues an earlier call, a part of it, or nothing. */
const histories = fc
  .array(fc.record({ from: fc.nat(9), cut: fc.constantFrom(0, 0, 0, 1, 5), more: ids, completion: ids }), { minLength: 1, maxLength: 14 })
  .map((steps) => {
    const calls: ModelCall[] = [];
    for (const { from, cut, more, completion } of steps) {
      const before = calls[Math.max(0, calls.length - 1 - (from > 5 ? from : 0))];
      const whole = before === undefined ? [] : [...before.prompt, ...before.completion];
      calls.push({ prompt: [7, ...whole.slice(1, Math.max(1, whole.length - cut)), ...more], completion });
    }
    return calls;
  });

describe('prompts as differences', () => {
  it('reproduce every prompt, token by token', () => {
    fc.assert(
      fc.property(histories, (calls) => {
        const chains = new PromptChains();
        const placed = calls.map(({ prompt, completion }, turn) => chains.place(turn, prompt, completion));
        calls.forEach(({ prompt }, turn) => {
          const whole = rebuilt(placed, calls, turn);
          expect(whole).toEqual(prompt);
          const bytes = Buffer.from(Int32Array.from(whole).buffer);
          expect(placed[turn]!.prompt_sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
        });
      }),
    );
  });

  it('keep all of the parent, or are marked as breaks', () => {
    fc.assert(
      fc.property(histories, (calls) => {
        const chains = new PromptChains();
        calls.forEach(({ prompt, completion }, turn) => {
          const { branch_parent: parent, prompt_keep: keep, breaks } = chains.place(turn, prompt, completion);
          const before = calls[parent];
          const whole = before !== undefined && keep === before.prompt.length + before.completion.length;
          expect(breaks).toBe(!whole && turn > 0);
        });
      }),
    );
  });

  it('record a long conversation once', () => {
    const chains = new PromptChains();
    let before: readonly number[] = Array.from({ length: 2_000 }, (_, at) => at);
    let recorded = 0;
    for (let turn = 0; turn < 64; turn += 1) {
      const { prompt_ids, branch_parent } = chains.place(turn, before, [1, 2, 3]);
      expect(branch_parent).toBe(turn - 1);
      recorded += prompt_ids.length;
      before = [...before, 1, 2, 3, 4, 5];
    }
    expect(recorded).toBe(2_000 + 63 * 2);
  });

  it('continue their own branch when two branches alternate', () => {
    const chains = new PromptChains();
    expect(chains.place(0, [1, 2], [3])).toMatchObject({ branch_parent: -1, breaks: false });
    expect(chains.place(1, [9, 8], [7])).toMatchObject({ branch_parent: -1, prompt_keep: 0, breaks: true });
    expect(chains.place(2, [1, 2, 3, 4], [5])).toMatchObject({ branch_parent: 0, prompt_keep: 3, prompt_ids: [4], breaks: false });
    expect(chains.place(3, [9, 8, 7, 6], [5])).toMatchObject({ branch_parent: 1, prompt_keep: 3, prompt_ids: [6], breaks: false });
    expect(chains.place(4, [1, 2, 3, 4, 6], [])).toMatchObject({ branch_parent: 2, prompt_keep: 4, prompt_ids: [6], breaks: true });
  });
});
