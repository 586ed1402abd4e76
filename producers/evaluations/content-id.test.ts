import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentIdOf } from './content-id.ts';

describe('the id of a question', () => {
  it('depends on its text and answers, but not on the amount of whitespace or on the order of the answers', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string(), { minLength: 1 }), (question, answers) => {
        const id = contentIdOf({ question, answers });
        expect(id).toMatch(/^[0-9a-f]{16}$/);
        expect(contentIdOf({ question: `  ${question}\n`, answers: [...answers].reverse() })).toBe(id);
        expect(contentIdOf({ question, answers: [...answers, ...answers], attachment: '' })).toBe(id);
      }),
    );
  });

  it('differs with the words, the answers and the attachment', () => {
    const base = { question: 'Who?', answers: ['Ada'] };
    const others = [{ ...base, question: 'Who' }, { ...base, answers: ['Ada', 'A'] }, { ...base, answers: ['ada'] }, { ...base, attachment: 'a.png' }]; // prettier-ignore
    expect(new Set([base, ...others].map(contentIdOf)).size).toBe(5);
  });
});
