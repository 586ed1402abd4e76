import { expect, it } from 'vitest';
import { diffTurns } from './turn-diff.ts';

const long = 'the same words '.repeat(2_000);
const turn = (tool_arguments: string, tool_result: string, text = long) => ({ text, tool_arguments, tool_result });

it('a difference in the call is marked however long the text before it is', () => {
  const [left = [], right = []] = diffTurns(turn('{"q":"one"}', 'found one'), turn('{"q":"two"}', 'found two'));
  expect(left.map(({ name }) => name)).toEqual(['text', 'arguments', 'result']);
  const marked = (parts: typeof left) => parts.flatMap(({ words }) => words.filter(({ isOwn }) => isOwn).map(({ text }) => text));
  expect([marked(left), marked(right)]).toEqual([
    ['{"q":"one"}', 'one'],
    ['{"q":"two"}', 'two'],
  ]);
});

it('what is left out of a part is counted, also where a part has very many lines', () => {
  const [left = [], right = []] = diffTurns(turn('', '\n'.repeat(2_000), ''), turn('', 'b', long));
  expect(left.map(({ name, leftOut }) => [name, leftOut])).toEqual([['result', 500]]);
  expect(right.map(({ name, leftOut }) => [name, leftOut > 0])).toEqual([
    ['text', true],
    ['result', false],
  ]);
});

it('a turn without a counterpart has all of its parts, and no marks', () => {
  expect(diffTurns(undefined, turn('{}', '', 'said'))).toEqual([
    [],
    [
      { name: 'text', words: [{ text: 'said', isOwn: false }], leftOut: 0 },
      { name: 'arguments', words: [{ text: '{}', isOwn: false }], leftOut: 0 },
    ],
  ]);
});
