import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { SeenRequest } from '../../../../infra/testing/llm-server.ts';
import { synthesisPrompts, type SynthesisWords } from '../../../../infra/testing/llm-synthesizer.ts';
import type { SeedQuestion } from './llm-writer.ts';
import { fieldsOf, isYes } from './reply.ts';
import { accepted, failedGates, good, INJECTED, make, script, setUpLlmWriter } from './llm-writer.testing.ts';

setUpLlmWriter();

vi.setConfig({ testTimeout: 300_000 });

describe('unusable replies', () => {
  const garbage = ['', 'null', '}{', '{"action": 7, "good": {}}', '```json\n{broken```', '\u0000\ud83d', '{'.repeat(3_000)];
  it.each(synthesisPrompts)('%s: rejected with a reason, never an exception', async (kind) => {
    const closedBook = kind === 'closedBook' ? {} : { closedBook: good.closedBook };
    for (const text of garbage) {
      script({ [kind]: text, ...closedBook });
      const made = await make({ injectRounds: 1, fuzzRounds: 1 });
      // a check that may stay undecided does not reject
      const open = kind === 'choose' || kind === 'closedBook';
      expect(made.rejected.length > 0, `${kind} ${text.slice(0, 20)}`).toBe(!open);
      for (const candidate of made.rejected) {
        expect(candidate.reason).not.toBe('');
        expect(failedGates(candidate)[0]!.detail).not.toBe('');
      }
    }
  });

  it('a verdict that is neither yes nor no counts as no verdict', async () => {
    script({ wellFormed: '{"reason": "hm", "good": "perhaps"}' });
    expect((await make()).rejected.flatMap(failedGates)).toMatchObject([
      { gate: 'well_formed', detail: expect.stringContaining('neither yes nor no') as string },
    ]);
  });

  it('a prompt that the server rejects makes a rejected candidate too', async () => {
    script({ inject: () => ({ kind: 'status', status: 400, body: '{"error": {"message": "the input is too long"}}' }) });
    const made = await make({ fuzzRounds: 0 });
    expect(made.rejected.flatMap(failedGates)[0]!.detail).toContain('the input is too long');
  });

  it('finds the last object with all fields in any text, and never throws', () => {
    expect(fieldsOf('{"a": "1", "b": 2} then {"a": "x", "b": true} }', ['a', 'b'])).toEqual({ a: 'x', b: 'true' });
    expect(fieldsOf('{"a": "1"} and {"b": "2"}', ['a', 'b'])).toBeUndefined();
    expect(fieldsOf('{"outer": {"a": "in"}}', ['a'])).toEqual({ a: 'in' });
    const names = fc.constantFrom('a', 'b', 'reason');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.dictionary(names, fc.string()), fc.string(), (before, object, after) => {
        const found = fieldsOf(`${before}${JSON.stringify(object)}${after}`, ['a', 'b']);
        if (found !== undefined) expect(Object.values(found).every((text) => text.trim() !== '')).toBe(true);
      }),
    );
    fc.assert(
      fc.property(
        fc.record({ a: fc.string({ minLength: 1 }), b: fc.string({ minLength: 1 }) }),
        fc.stringMatching(/^[^{}]*$/),
        (object, noise) => {
          fc.pre(object.a.trim() !== '' && object.b.trim() !== '');
          expect(fieldsOf(`${noise}${JSON.stringify(object)}${noise}`, ['a', 'b'])).toEqual({ a: object.a.trim(), b: object.b.trim() });
        },
      ),
    );
    expect(['yes', 'Yes, it is', 'TRUE', 'no.', 'maybe', ''].map(isYes)).toEqual([true, true, true, false, undefined, undefined]);
  });
});

describe('an endpoint that dies', () => {
  const many: readonly SeedQuestion[] = ['Vienna', 'Bratislava', 'Budapest', 'Belgrade'].map((city) => ({
    ...{ question: `Which river flows through ${city}?`, answers: ['Danube'], augAnswers: [], split: 'heldout' as const },
  }));
  const cityIn = (prompt: string): string => /flows through (\w+)\?/.exec(prompt)?.[1] ?? '';
  const words: Partial<SynthesisWords> = {
    entity: ({ prompt }) => JSON.stringify({ entity: cityIn(prompt), query: 'city' }),
    inject: ({ prompt }) =>
      JSON.stringify({
        quote: 'It is old.',
        fact: 'it is old',
        question: `Which river flows through the old town number ${cityIn(prompt).length}${cityIn(prompt).charCodeAt(0)}?`,
      }),
  };

  it.each([1, 3])('is reported, and the questions accepted before are kept (%i walks at once)', async (concurrency) => {
    let injections = 0;
    script({
      ...words,
      inject: (request) => {
        injections += 1;
        if (injections > 2) return { kind: 'hangs_up' };
        return (words.inject as (one: SeenRequest) => string)(request);
      },
    });
    const failed = make({ fuzzRounds: 0, concurrency }, { seeds: many });
    await expect(failed).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message: expect.stringMatching(
        /^making questions with writer: asking writer at .*\(2 tries\); what was made before is kept: 2 accepted, 0 rejected$/,
      ) as string,
    });
    expect(accepted).toHaveLength(2);
    expect(accepted.every(({ split }) => split === 'heldout')).toBe(true);
  });

  it('that refuses the key is reported as such, without the key', async () => {
    script({ closedBook: () => ({ kind: 'status', status: 401, body: '{"error": {"message": "bad key checker-key"}}' }) });
    const error: unknown = await make().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'MODEL_REFUSED' });
    expect(String(error)).not.toContain('checker-key');
  });

  it('that is unavailable for a moment is asked again', async () => {
    let refused = 0;
    script({ fuzz: () => (refused++ === 0 ? { kind: 'status', status: 503 } : good.fuzz) });
    expect((await make()).accepted).toHaveLength(1);
    expect(refused).toBe(2);
  });

  it('that hangs does not delay an abort, which keeps the last draft that passed', async () => {
    const controller = new AbortController();
    script({
      fuzz: () => {
        controller.abort();
        return { kind: 'hangs' };
      },
    });
    const made = await make({ signal: controller.signal });
    expect(made.accepted.map(({ question }) => question)).toEqual([INJECTED]);
  });
});
