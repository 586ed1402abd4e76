import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatOk, parseAction, renderAction } from '../reward/format.ts';
import { argumentOf, baseTools, callOf, isToolName, kindsOf } from './tools.ts';

const kinds = [...baseTools, { name: 'convert', usage: '<convert> 3 miles </convert> converts.' }];
const words = fc.stringMatching(/^[a-z0-9]([a-z0-9 ]{0,20}[a-z0-9])?$/);

describe('the call of a tool', () => {
  it('is parsed as it was rendered, whatever the tool', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), words, ({ name }, argument) => {
        const call = callOf(name, argument);
        expect(parseAction(renderAction(call), kinds)).toEqual(call);
        expect(argumentOf(call)).toBe(argument);
        expect(formatOk(renderAction(call), kinds)).toBe(true);
        expect(formatOk(`${renderAction(call)}<convert>`, kinds)).toBe(false);
      }),
    );
  });
  it('counts for an agent that has the tool, and is text for others', () => {
    const text = '<convert> 3 miles </convert>';
    expect(parseAction(text, kinds)).toEqual({ tool: 'call', name: 'convert', input: '3 miles' });
    expect(parseAction(text)).toBeUndefined();
    expect(formatOk(`${text}<search>a</search>`, kinds)).toBe(false);
    expect(formatOk(`${text}<search>a</search>`)).toBe(true);
  });
});

describe('a tool', () => {
  it('has a name that can be a tag and is not reserved', () => {
    expect(['search', 'convert', 'look_up2'].map(isToolName)).toEqual([true, true, true]);
    expect(['answer', 'think', '', '2x', 'a b', '<a>', 'A', 7, undefined].map(isToolName).includes(true)).toBe(false);
  });
  it('is described by its usage, or by its name alone', () => {
    const call = () => Promise.reject(new Error('not called'));
    expect(kindsOf([{ name: 'search', call }])).toBe(baseTools);
    expect(kindsOf([{ name: 'convert', call }]).at(-1)).toEqual({ name: 'convert', usage: '<convert> input </convert>' });
  });
});
