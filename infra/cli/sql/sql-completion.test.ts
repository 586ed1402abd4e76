import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { functionNames, isAllowedFunction } from '../../../consumers/api/sql/functions.ts';
import { completeSql } from './sql-completion.ts';

const words = {
  tables: new Map([
    ['steps', ['run_id', 'step', 'reward_mean']],
    ['turns', ['run_id', 'turn', 'tool', 'tool_ms']],
    ['step_trajectories', ['run_id', 'step', 'advantage']],
  ]),
  functions: ['quantile', 'quantileExact', 'toDate', 'count', 'sum'],
};
const hits = (before: string, behind = ''): readonly string[] => completeSql(before, words, before + behind).hits;

describe('completion at the prompt', () => {
  it.each([
    ['select * from st', ['steps', 'step_trajectories']],
    ['select * from ', ['steps', 'turns', 'step_trajectories']],
    ['SELECT * FROM turns AS t JOIN ste', ['steps', 'step_trajectories']],
    ['select * from turns, ste', ['steps', 'step_trajectories']],
    ['\\d tu', ['turns']],
    ['describe tu', ['turns']],
    ['select * from steps where rew', ['reward_mean']],
    ['select * from steps where ', ['run_id', 'step', 'reward_mean']],
    ['select * from turns t where t.too', ['t.tool', 't.tool_ms']],
    ['select * from turns as t inner join steps using (run_id) where steps.re', ['steps.reward_mean']],
    ['select quant', ['quantile(', 'quantileExact(']],
    ['select TODA', ['toDate(']],
    ['sel', ['select']],
    ['SEL', ['SELECT']],
    ["select 'from st", []],
    ['select 1 -- from st', []],
    ['select `st', []],
    ["select 'it''s', rew", ['reward_mean']],
    ['select ', []],
    ['select x.y', []],
  ])('offers after %s', (before, expected) => {
    expect(hits(before)).toEqual(expected);
  });

  it('uses the tables after the cursor', () => {
    expect(hits('select too', ' from turns')).toEqual(['tool', 'tool_ms']);
    expect(hits('select adv', ' from step_trajectories where x')).toEqual(['advantage']);
  });

  it('offers only names that begin with the typed word, for any text', () => {
    const part = fc.constantFrom(
      'select ',
      'from ',
      'steps',
      ' s',
      ', ',
      's.',
      "'",
      '"',
      '`',
      '--',
      '/*',
      '\n',
      '\\d ',
      'qu',
      '(',
      ')',
      '.',
      '*/',
      'ü',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const before = parts.join('');
        const { hits: found, word } = completeSql(before, words);
        expect(before.endsWith(word)).toBe(true);
        for (const hit of found) expect(hit.toLowerCase().startsWith(word.toLowerCase())).toBe(true);
        expect(new Set(found).size).toBe(found.length);
      }),
    );
  });

  it('offers only functions that the sandbox allows', () => {
    expect(functionNames.length).toBeGreaterThan(500);
    expect(functionNames.filter((name) => !isAllowedFunction(name))).toEqual([]);
    expect(functionNames).toContain('quantileExact');
  });
});
