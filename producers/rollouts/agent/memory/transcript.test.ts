import { describe, expect, it } from 'vitest';
import type { Observation } from '../../../../streams/core/agents.ts';
import type { AgentMemory } from './memory.ts';
import { createTranscriptMemory } from './transcript.ts';
import { observation, open, result, search, text, turn, wrote } from './memories.testing.ts';

const sides = (memory: AgentMemory, asked: Observation): readonly string[] => {
  const all = memory.ask(asked).prompt.map(({ from }) => from);
  return all.filter((from, at) => from !== all[at - 1]);
};

describe('the transcript', () => {
  const memory = createTranscriptMemory({ takes: 'text' });
  const chat = createTranscriptMemory({ takes: 'chat' });
  const page = 'p'.repeat(24_999) + 'END' + 'q'.repeat(10_000) + 'TAIL';

  it('begins with the question and the format', () => {
    const { mode, stop } = memory.ask(observation([]));
    expect([mode, stop]).toEqual(['act', ['</search>', '</access>', '</answer>']]);
    const shown = text(memory, observation([]));
    for (const part of ['Which river?', '<search>', '<access>', '<answer>', '<information>']) expect(shown).toContain(part);
    expect(shown).toMatch(/\n\n<think>\n$/);
  });
  it('appends what was written and found, in full', () => {
    const documents = 'd'.repeat(60_000);
    const history = [search(documents), search('OTHER')];
    const shown = text(memory, observation(history));
    expect(shown).toContain(`<information>\n${documents}\n</information>`);
    expect(shown).toContain('<think>\nhm</think>\n<search> q </search>');
    expect(shown.indexOf('OTHER')).toBeGreaterThan(shown.indexOf(documents));
    const before = text(memory, observation(history.slice(0, 1)));
    expect(shown.startsWith(before)).toBe(true);
  });
  it('shows a page in pieces of 25,000 characters, and keeps 100 characters of each and the thought', () => {
    const opened = [open(page)];
    const first = memory.ask(observation(opened));
    expect([first.mode, first.stop]).toEqual(['read', ['</think>']]);
    expect(text(memory, observation(opened))).toContain(`>>>> Page 1 >>>>\n\n${page.slice(0, 25_000)}\n</information>`);
    expect(text(memory, observation(opened))).not.toContain('qqq');
    const second = text(memory, observation([...opened, wrote('first thought</think>')]));
    expect(second).toContain(`>>>> Page 1 >>>>\n\n${'p'.repeat(100)}\n</information>\n\n<think>\nfirst thought</think>`);
    expect(second).toContain(`>>>> Page 2 >>>>\n\n${page.slice(25_000)}\n</information>`);
    const done = [...opened, wrote('first thought</think>'), wrote('second thought</think>')];
    const after = memory.ask(observation(done));
    expect(after.mode).toBe('act');
    const shown = text(memory, observation(done));
    expect(shown).toContain(`>>>> Page 2 >>>>\n\n${page.slice(25_000, 25_100)}\n</information>\n\n<think>\nsecond thought</think>`);
    expect(shown).not.toContain('p'.repeat(101));
    expect(shown).not.toContain('TAIL');
  });
  it('tells the model of an empty page, of a missing page, and of output without a call', () => {
    expect(text(memory, observation([open('')]))).toContain('No More Information is Found for this URL.');
    const missing = turn({ tool: 'access', url: 'u' }, result('There is no page at u.', { status: 'error', errorType: 'not_found' }));
    expect(text(memory, observation([missing]))).toContain('<information>\nThere is no page at u.\n</information>');
    expect(text(memory, observation([wrote('well', 'error', 'unclosed_tag')]))).toMatch(
      /well\n\n<information>\nNo call was made \(unclosed_tag\)/,
    );
  });
  it('is a conversation for a chat model, in which the sides alternate', () => {
    const history = [search('found'), open('short'), wrote('t</think>'), wrote('well', 'error', 'no_action')];
    expect(sides(chat, observation(history))).toEqual(['user', 'model', 'user', 'model', 'user', 'model', 'user']);
    const { prompt } = chat.ask(observation(history));
    expect(prompt.find(({ from }) => from === 'model')?.text).toBe('hm</think>\n<search> q </search>');
    expect(text(chat, observation(history))).toContain('t</think>\n\nwell');
  });
  it('consists of the unchanged texts of the history', () => {
    const history = [search('d'.repeat(50_000)), search('e'.repeat(50_000))];
    const { prompt } = memory.ask(observation(history));
    for (const past of history)
      for (const whole of [past.text, past.result?.text]) expect(prompt.map((part) => part.text)).toContain(whole);
  });
  it('counts its own tokens against the limit', () => {
    expect(memory.spent([search('x')], { promptTokens: 500, completionTokens: 20 })).toBe(520);
  });
  it('does not force an answer', () => {
    expect(memory.ask(observation([], { final: true })).mode).toBe('act');
  });
});
