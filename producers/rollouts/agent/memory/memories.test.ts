import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PastTurn } from '../../../../streams/core/agents.ts';
import { callOf, kindsOf } from '../../../../streams/core/tools.ts';
import { createBoundedMemory } from './bounded.ts';
import type { AgentMemory } from './memory.ts';
import { promptsFrom } from './prompts.ts';
import { createTranscriptMemory } from './transcript.ts';
import { observation, open, result, search, text, turn, wrote } from './memories.testing.ts';

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

describe('custom prompts', () => {
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
  it('replace the built-in ones, with a system message before them', () => {
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
  it('insert values verbatim, including braces', () => {
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

  it('is listed in the prompts, ends a generation, and is named after output without a call', () => {
    const transcript = createTranscriptMemory({ takes: 'text', tools });
    expect(transcript.ask(observation([])).stop).toEqual(['</search>', '</access>', '</convert>', '</answer>']);
    expect(text(transcript, observation([]))).toContain(line);
    expect(text(transcript, observation([wrote('hm', 'error', 'no_action')]))).toContain(
      'one of <search>, <access>, <convert> and <answer>',
    );
    expect(text(createBoundedMemory({ tools }), observation([]))).toContain(line);
    expect(text(createTranscriptMemory({ takes: 'text' }), observation([]))).not.toContain('convert');
  });
  it('leaves its call and its result in the notes, and does not count as a document', () => {
    const bounded = createBoundedMemory({ tools, enoughDocuments: 1 });
    expect(text(bounded, observation([converted]))).toContain('<convert> 3 miles </convert>\n<information>\n4.8 km\n</information>');
    expect(bounded.ask(observation([converted])).mayAnswer).toBe(false);
    expect(bounded.ask(observation([open('page'), wrote('read')])).mayAnswer).toBe(true);
  });
});

describe('for any history', () => {
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
  it('forgetting does not change prompts, however often it happens', () => {
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
