import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action, Observation, PastTurn, ToolResult } from '../../../../streams/core/agents.ts';
import { callOf, kindsOf } from '../../../../streams/core/tools.ts';
import { renderAction } from '../../../../streams/reward/format.ts';
import { createBoundedMemory } from './bounded.ts';
import type { AgentMemory } from './memory.ts';
import { promptsFrom } from './prompts.ts';
import { createTranscriptMemory } from './transcript.ts';

const observation = (history: readonly PastTurn[], more: Partial<Observation> = {}): Observation => ({
  ...{ question: 'Which river?', turn: history.length, maxTurns: 128, history },
  ...more,
});
const result = (text: string, more: Partial<ToolResult> = {}): ToolResult => ({
  status: 'ok',
  errorType: '',
  text,
  items: [],
  cacheHit: false,
  ...more,
});
const turn = (action: Action, found: ToolResult, thought = 'hm'): PastTurn => ({
  ...{ action, result: found, text: `${thought}</think>\n${renderAction(action)}`, tokens: 10 },
});
const search = (text: string, items = 10): PastTurn =>
  turn({ tool: 'search', query: 'q' }, result(text, { items: Array.from({ length: items }, (_, at) => ({ url: `u${at}`, title: 't' })) }));
const open = (text: string): PastTurn => turn({ tool: 'access', url: 'u' }, result(text));
const wrote = (text: string, status: 'ok' | 'error' | 'refused' | 'timeout' = 'ok', errorType = ''): PastTurn => ({
  ...{ action: undefined, result: undefined, text, tokens: 5, withoutCall: { status, errorType } },
});
const text = (memory: AgentMemory, asked: Observation): string =>
  memory
    .ask(asked)
    .prompt.map((part) => part.text)
    .join('');
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
  it('shows a page in pieces of 25,000 characters, and keeps 100 of each and the thought', () => {
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
  it('tells what came of an empty page, of a page that is not there, and of output without a call', () => {
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
  it('is made of the texts of the history themselves', () => {
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

describe('the bounded history', () => {
  const memory = createBoundedMemory();

  it('is a fresh prompt with the question, the date and the notes', () => {
    const { prompt, mode, stop } = memory.ask(observation([search('found', 1)], { askedAt: Date.UTC(2026, 2, 9, 23, 59) }));
    expect([mode, prompt.length, prompt[0]?.from, stop]).toEqual(['act', 1, 'user', ['<|im_end|>', '<|endoftext|>']]);
    expect(prompt[0]?.text).toContain("Today's date: 2026-03-09");
    expect(prompt[0]?.text).toContain('Question: Which river?');
    expect(prompt[0]?.text).toContain('<search> q </search>\n<information>\nfound\n</information>');
  });
  it('leaves a date out that nobody gave', () => {
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
    ['pages count as documents', [search('a', 10), search('b', 9), open('')], true],
    [
      'documents of a failed search do not',
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
  ])('an answer after %s: %#', (_name, history, wanted) => {
    const ask = memory.ask(observation(history));
    expect(ask.mayAnswer).toBe(wanted);
    expect(ask.prompt[0]?.text.includes('<answer>')).toBe(wanted);
  });
  it('shows a page in pieces of 10,000 characters beside the notes, and keeps 100 of each and the thought', () => {
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
  it('asks for nothing but the answer at the end, also within a page', () => {
    expect(memory.ask(observation([open('page')], { final: true }))).toMatchObject({ mode: 'answer', mayAnswer: true });
  });
  it('counts what the model wrote against the limit', () => {
    expect(memory.spent([search('x'), wrote('y')], { promptTokens: 9_000, completionTokens: 7 })).toBe(22);
  });
});

describe("prompts of people's own", () => {
  const prompts = promptsFrom({
    ...{
      system: 'You are terse.',
      transcript: 'Q: {question} on {date}',
      act: 'ACT {question}|{history}',
      'act-or-answer': 'ANY {question}',
    },
    read: 'READ {content}|{question}',
    answer: 'END {question} {unknown}',
  });
  const askedAt = Date.UTC(2026, 2, 9);
  it('stand in for the built-in ones, with a system message before them', () => {
    const chat = createTranscriptMemory({ takes: 'chat', prompts }).ask(observation([search('found')], { askedAt }));
    expect(chat.prompt.slice(0, 2)).toEqual([
      { from: 'system', text: 'You are terse.' },
      { from: 'user', text: 'Q: Which river? on 2026-03-09' },
    ]);
    expect(text(createTranscriptMemory({ takes: 'text', prompts }), observation([]))).toMatch(
      /^You are terse\.\n\nQ: Which river\? on \n\n<think>/,
    );
    const bounded = createBoundedMemory({ prompts, enoughActs: 2 });
    expect(bounded.ask(observation([])).prompt).toEqual([
      { from: 'system', text: 'You are terse.' },
      { from: 'user', text: 'ACT Which river?|' },
    ]);
    expect(text(bounded, observation([search('a', 0), search('b', 0)]))).toBe('You are terse.ANY Which river?');
    expect(text(bounded, observation([open('page')]))).toBe('You are terse.READ >>>> Page 1 >>>>\n\npage|Which river?');
    expect(text(bounded, observation([], { final: true }))).toBe('You are terse.END Which river? {unknown}');
  });
  it('take what is filled in as it is, braces and all', () => {
    const bounded = createBoundedMemory({ prompts });
    expect(text(bounded, observation([], { question: '{history} $& {date}' }))).toBe('You are terse.ACT {history} $& {date}|');
  });
  it('are the built-in ones where none is given', () => {
    const [own, plain] = [createBoundedMemory({ prompts: promptsFrom({}) }), createBoundedMemory()];
    for (const asked of [observation([]), observation([open('p')]), observation([], { final: true, askedAt })])
      expect(own.ask(asked)).toEqual(plain.ask(asked));
    const transcript = createTranscriptMemory({ takes: 'chat', prompts: promptsFrom({}) });
    expect(transcript.ask(observation([]))).toEqual(createTranscriptMemory({ takes: 'chat' }).ask(observation([])));
  });
});

describe('a further tool', () => {
  const tools = kindsOf([
    { name: 'convert', usage: '<convert> 3 miles </convert> converts.', call: () => Promise.reject(new Error('unused')) },
  ]);
  const converted = turn(callOf('convert', '3 miles'), result('4.8 km'));
  const line = '- <convert> 3 miles </convert> converts.\n';

  it('is told of in the prompts, ends a generation, and is named where no call was made', () => {
    const transcript = createTranscriptMemory({ takes: 'text', tools });
    expect(transcript.ask(observation([])).stop).toEqual(['</search>', '</access>', '</convert>', '</answer>']);
    expect(text(transcript, observation([]))).toContain(line);
    expect(text(transcript, observation([wrote('hm', 'error', 'no_action')]))).toContain(
      'one of <search>, <access>, <convert> and <answer>',
    );
    expect(text(createBoundedMemory({ tools }), observation([]))).toContain(line);
    expect(text(createTranscriptMemory({ takes: 'text' }), observation([]))).not.toContain('convert');
  });
  it('leaves its call and its result in the notes, and is no document', () => {
    const bounded = createBoundedMemory({ tools, enoughDocuments: 1 });
    expect(text(bounded, observation([converted]))).toContain('<convert> 3 miles </convert>\n<information>\n4.8 km\n</information>');
    expect(bounded.ask(observation([converted])).mayAnswer).toBe(false);
    expect(bounded.ask(observation([open('page'), wrote('read')])).mayAnswer).toBe(true);
  });
});

const anyTurn: fc.Arbitrary<PastTurn> = fc.oneof(
  fc
    .record({ chars: fc.integer({ min: 0, max: 400 }), items: fc.integer({ min: 0, max: 9 }) })
    .map(({ chars, items }) => search('s😀'.repeat(chars), items)),
  fc.integer({ min: 0, max: 300 }).map((chars) => open('p😀'.repeat(chars))),
  fc.string({ unit: 'binary', maxLength: 60 }).map((said) => wrote(said)),
  fc.string({ maxLength: 60 }).map((said) => wrote(said, 'error', 'no_action')),
  fc.constant(wrote('', 'timeout', 'model_timeout')),
);
const anyHistory = fc.array(anyTurn, { maxLength: 25 });

describe('whatever happened', () => {
  const bounded = createBoundedMemory({ historyChars: 500, pieceChars: 90 });
  const memories: readonly AgentMemory[] = [
    bounded,
    createTranscriptMemory({ takes: 'text', pieceChars: 90 }),
    createTranscriptMemory({ takes: 'chat', pieceChars: 90 }),
  ];
  it('the bounded prompt stays within its bound', () => {
    const empty = text(bounded, observation([], { final: true })).length + 700;
    fc.assert(
      fc.property(anyHistory, fc.boolean(), (history, final) => {
        expect(text(bounded, observation(history, { final })).length).toBeLessThanOrEqual(empty + 500 + 90 + 30);
      }),
    );
  });
  it('prompts do not change by forgetting, however often', () => {
    fc.assert(
      fc.property(anyHistory, fc.constantFrom(...memories), (history, memory) => {
        let kept: readonly PastTurn[] = [];
        for (const past of history) {
          kept = memory.forget([...kept, past]);
          expect(kept.length).toBeLessThanOrEqual(history.length);
        }
        expect(memory.ask(observation(kept))).toEqual(memory.ask(observation(history)));
        expect(memory.spent(kept, { promptTokens: 3, completionTokens: 4 })).toBe(
          memory.spent(history, { promptTokens: 3, completionTokens: 4 }),
        );
      }),
    );
  });
  it('the bounded memory holds little of a long past', () => {
    const history = Array.from({ length: 200 }, (_, at) => search(`${at} ${'x'.repeat(400)}`));
    const kept = bounded.forget(history);
    const chars = kept.reduce((sum, past) => sum + past.text.length + (past.result?.text.length ?? 0), 0);
    expect(chars).toBeLessThan(2_000);
  });
});
