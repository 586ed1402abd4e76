import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { baseTools as tools } from '../../../../streams/core/tools.ts';
import type { TurnPrompt } from './memory.ts';
import { afterReasoning, readOutput, thoughtOf, withStop } from './output.ts';

const ask = (more: Partial<TurnPrompt> = {}): TurnPrompt => ({
  mode: 'act',
  prompt: [],
  stop: [],
  mayAnswer: true,
  calls: 'anywhere',
  ...more,
});
const early = ask({ mayAnswer: false });
const reasoned = ask({ calls: 'after_reasoning' });
const forced = ask({ mode: 'answer', calls: 'after_reasoning' });

const search = (query: string) => ({ action: { tool: 'search', query } });
const access = (url: string) => ({ action: { tool: 'access', url } });
const answer = (text: string) => ({ action: { tool: 'answer', answer: text } });
const none = (errorType: string, status = 'error') => ({ action: undefined, withoutCall: { status, errorType } });

describe('a call in an output', () => {
  it.each([
    ['one search', 'so</think><search> a b </search>', ask(), search('a b')],
    ['one access', '<access>\nfactbook://x\n</access>', ask(), access('factbook://x')],
    ['one answer', '<answer>42</answer>', ask(), answer('42')],
    ['the last search of two', '<search>a</search> no, <search>b</search>', ask(), search('b')],
    ['the last access of two', '<access>a</access><access>b</access>', ask(), access('b')],
    ['the last answer of two', '<answer>a</answer><answer>b</answer>', ask(), answer('b')],
    ['a search before an access', '<access>u</access><search>a</search>', ask(), search('a')],
    ['a search before an answer that follows it', '<search>a</search><answer>b</answer>', ask(), search('a')],
    ['an access before an answer', '<answer>b</answer><access>u</access>', ask(), access('u')],
    ['lines within', '<search>a\nb</search>', ask(), search('a\nb')],
    ['an opening tag within', '<search>a <search>b</search>', ask(), search('a <search>b')],
    ['an empty answer', '<answer></answer>', ask(), answer('')],
    ['no call', 'I do not know.', ask(), none('no_action')],
    ['nothing', '', ask(), none('no_action')],
    ['an open tag', '<search>a', ask(), none('unclosed_tag')],
    ['tags of two kinds', '<search>a</access>', ask(), none('unclosed_tag')],
    ['only a closing tag', 'a</search>', ask(), none('no_action')],
    ['an empty query', '<search>  </search>', ask(), none('empty_argument')],
    ['an empty URL', '<access></access>', ask(), none('empty_argument')],
    ['an answer that is too early', '<answer>42</answer>', early, none('answer_too_early', 'refused')],
    ['a search beside an answer that is too early', '<answer>42</answer><search>a</search>', early, search('a')],
    ['a call in the reasoning', '<search>a</search></think>well', reasoned, none('no_action')],
    ['a call after the reasoning', '<search>a</search></think><access>u</access>', reasoned, access('u')],
    ['a call in the reasoning of a base model', '<search>a</search></think>', ask(), search('a')],
  ] as const)('%s', (...[, text, asked, wanted]) => {
    expect(readOutput(text, asked, { finishReason: 'stop', tools })).toEqual(wanted);
  });
  it('says when it was cut off', () => {
    expect(readOutput('<search>a', ask(), { finishReason: 'length', tools })).toEqual(none('cut_off'));
    expect(readOutput('<search>a</search> and', ask(), { finishReason: 'length', tools })).toEqual(search('a'));
  });
});

describe('a forced answer', () => {
  it.each([
    ['tags', 'so <answer>42</answer>', answer('42')],
    ['a search does not count', '<search>a</search><answer>42</answer>', answer('42')],
    ['the last line that speaks of an answer', 'The answer is 41.\n Final Answer: 42 \nbye', answer('Final Answer: 42')],
    ['a line after the reasoning', 'the answer is 1\n</think>\nthe answer is 2', answer('the answer is 2')],
    ['no line that mentions an answer', 'I give up.', none('no_answer')],
    ['nothing', '', none('no_answer')],
  ] as const)('%s', (_name, text, wanted) => {
    expect(readOutput(text, forced, { finishReason: 'stop', tools })).toEqual(wanted);
  });
});

it('a thought about a page is ok whatever it says', () => {
  const read = ask({ mode: 'read' });
  for (const text of ['', 'so', '<search>a</search>', '<answer>42']) {
    expect(readOutput(text, read, { finishReason: 'length', tools })).toEqual(none('', 'ok'));
  }
});

describe('a thought', () => {
  it.each([
    ['in its tags', 'x<thought> a\nb </thought><search>q</search>', 'a\nb'],
    ['the last of two', '<thought>a</thought><thought>b</thought>', 'b'],
    ['without tags', 'a <search>q</search> b', 'a  b'],
    ['an open tag', '<thought>a <access>u</access>', 'a'],
    ['after reasoning', '<think>long</think>short', 'short'],
    ['only a call', '<answer>42</answer>', ''],
    ['an open call', 'a <search>q', 'a'],
  ])('%s', (_name, text, wanted) => {
    expect(thoughtOf(text, tools)).toBe(wanted);
  });
});

describe('the closing tag that a server leaves out', () => {
  const stops = ['</search>', '</access>', '</answer>'];
  it.each([
    ['is the one that the server reports', '<access>u', stops, '</access>', '<access>u</access>'],
    ['is added even if no tag is open', 'x', stops, '</answer>', 'x</answer>'],
    ['is not repeated where the server leaves it in', '<search>a</search>\n', stops, '</search>', '<search>a</search>\n'],
    ['stays out where the model ended by itself', '<search> austria capital', stops, '', '<search> austria capital'],
    ['stays out where the server reports nothing', '<search> austria capital', stops, undefined, '<search> austria capital'],
    ['ends reasoning that the prompt began', 'so it is', ['</think>'], '</think>', 'so it is</think>'],
    ['stays out after reasoning that ended by itself', 'so it is', ['</think>'], '', 'so it is'],
    ['stays out if it belongs to the template', 'so', ['<|im_end|>'], '<|im_end|>', 'so'],
    ['stays out if it was not requested', 'so', stops, '</think>', 'so'],
  ] as const)('%s', (...[, text, stop, stopText, wanted]) => {
    expect(withStop(text, stop, stopText)).toBe(wanted);
  });
});

const piece = fc.constantFrom(
  '<search>',
  '</search>',
  '<access>',
  '</access>',
  '<answer>',
  '</answer>',
  '<think>',
  '</think>',
  '<thought>',
  '</thought>',
  '\n',
  'answer',
  '\ud83d',
  ' ',
);
const anyText = fc.array(fc.oneof(piece, fc.string({ unit: 'binary' })), { maxLength: 12 }).map((parts) => parts.join(''));
const anyAsk = fc.record({
  mode: fc.constantFrom<TurnPrompt['mode'][]>('act', 'read', 'answer'),
  mayAnswer: fc.boolean(),
  calls: fc.constantFrom<TurnPrompt['calls'][]>('anywhere', 'after_reasoning'),
});

describe('whatever the text', () => {
  it('there is a call or a status, and nothing is thrown', () => {
    fc.assert(
      fc.property(anyText, anyAsk, fc.constantFrom('stop', 'length', 'odd'), (text, asked, finishReason) => {
        const { action, withoutCall } = readOutput(text, ask(asked), { finishReason, tools });
        expect(action === undefined).toBe(withoutCall !== undefined);
        if (action?.tool === 'answer' && asked.mode === 'act') expect(asked.mayAnswer).toBe(true);
        if (asked.mode === 'read') expect(action).toBeUndefined();
        if (action?.tool === 'search') expect(text).toContain(action.query);
      }),
    );
  });
  it('a thought has no call in it, and is a part of what follows the reasoning', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const found = thoughtOf(text, tools);
        for (const tag of ['<search>', '<access>', '<answer>'])
          expect(found.includes(tag) && found.includes(tag.replace('<', '</'))).toBe(false);
        expect(found.length).toBeLessThanOrEqual(afterReasoning(text).length);
      }),
    );
  });
  it('a closing tag is added at most once, only at the end, and only when the server names it', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(undefined, '', '</search>', '</answer>'), (text, stopText) => {
        const stops = ['</search>', '</access>', '</answer>'];
        const once = withStop(text, stops, stopText);
        expect(once.startsWith(text)).toBe(true);
        expect([stopText ?? '', '']).toContain(once.slice(text.length));
        expect(withStop(once, stops, stopText)).toBe(once);
      }),
    );
  });
});
