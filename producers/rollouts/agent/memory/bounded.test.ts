import { describe, expect, it } from 'vitest';
import { createBoundedMemory } from './bounded.ts';
import { observation, open, result, search, text, turn, wrote } from './memories.testing.ts';

describe('the bounded history', () => {
  const memory = createBoundedMemory();

  it('is a fresh prompt with the question, the date and the notes', () => {
    const { prompt, mode, stop } = memory.ask(observation([search('found', 1)], { askedAt: Date.UTC(2026, 2, 9, 23, 59) }));
    expect([mode, prompt.length, prompt[0]?.from, stop]).toEqual(['act', 1, 'user', ['<|im_end|>', '<|endoftext|>']]);
    expect(prompt[0]?.text).toContain("Today's date: 2026-03-09");
    expect(prompt[0]?.text).toContain('Question: Which river?');
    expect(prompt[0]?.text).toContain('<search> q </search>\n<information>\nfound\n</information>');
  });
  it('leaves out the date when none is given', () => {
    expect(text(memory, observation([]))).not.toContain('date');
  });
  it('keeps the last 25,000 characters', () => {
    const history = [search('OLD'), search('n'.repeat(25_000))];
    const shown = text(memory, observation(history));
    expect(shown).not.toContain('OLD');
    expect(shown).toContain('n'.repeat(24_000));
    expect(shown.length).toBeLessThan(25_000 + 1_500);
  });
  it.each([
    ['nothing yet', [], false],
    ['19 documents', [search('a', 10), search('b', 9)], false],
    ['20 documents', [search('a', 10), search('b', 10)], true],
    ['19 documents and a page', [search('a', 10), search('b', 9), open('')], true],
    [
      'a failed search, whose documents do not count',
      [search('a', 10), turn({ tool: 'search', query: 'q' }, result('', { status: 'timeout', errorType: 'timeout' }))],
      false,
    ],
    ['31 refused answers', Array.from({ length: 31 }, () => wrote('<answer>x</answer>', 'refused', 'answer_too_early')), false],
    ['32 refused answers', Array.from({ length: 32 }, () => wrote('<answer>x</answer>', 'refused', 'answer_too_early')), true],
    [
      'a page that is read, its thoughts, and 30 calls',
      [open('page'), wrote('t'), ...Array.from({ length: 30 }, () => search('none', 0))],
      true,
    ],
    [
      '31 calls, and turns in which the model gave nothing',
      [...Array.from({ length: 31 }, () => search('none', 0)), wrote('', 'error', 'model_http_500'), wrote('', 'error', 'model_cut')],
      false,
    ],
    ['31 calls', Array.from({ length: 31 }, () => search('none', 0)), false],
    ['32 calls', Array.from({ length: 32 }, () => search('none', 0)), true],
  ])('allows an answer or not, after %s', (_name, history, wanted) => {
    const ask = memory.ask(observation(history));
    expect(ask.mayAnswer).toBe(wanted);
    expect(ask.prompt[0]?.text.includes('<answer>')).toBe(wanted);
  });
  it('shows a page in pieces of 10,000 characters beside the notes, and keeps the thought and 100 characters of each piece', () => {
    const page = 'p'.repeat(10_000) + 'q'.repeat(10_000);
    const opened = [open(page)];
    const shown = text(memory, observation(opened));
    expect(memory.ask(observation(opened))).toMatchObject({ mode: 'read', mayAnswer: false });
    expect(shown).toContain(`>>>> Page 1 >>>>\n\n${'p'.repeat(10_000)}`);
    expect(shown).not.toContain('qq');
    const second = text(memory, observation([...opened, wrote('<thought>one</thought>')]));
    expect(second).toContain(`<information>\n>>>> Page 1 >>>>\n\n${'p'.repeat(100)}\n</information>\n<think>\none\n</think>`);
    expect(second).toContain('q'.repeat(10_000));
    expect(second).not.toContain('p'.repeat(101));
  });
  it('keeps the thought of an early answer and of a malformed output, and nothing else of them', () => {
    const history = [
      wrote('<thought>too soon</thought><answer>Danube</answer>', 'refused', 'answer_too_early'),
      wrote('lost <search>x', 'error', 'unclosed_tag'),
    ];
    const shown = text(memory, observation(history));
    expect(shown).toContain('<think>\ntoo soon\n</think>\n<think>\nlost\n</think>');
    expect(shown).not.toContain('Danube');
  });
  it('asks only for the answer at the end, even in the middle of a page', () => {
    expect(memory.ask(observation([open('page')], { final: true }))).toMatchObject({ mode: 'answer', mayAnswer: true });
  });
  it('counts what the model wrote against the limit', () => {
    expect(memory.spent([search('x'), wrote('y')], { promptTokens: 9_000, completionTokens: 7 })).toBe(22);
  });
});
