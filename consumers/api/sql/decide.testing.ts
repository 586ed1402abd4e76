// Shared by the tests of decisions on SQL: syntax trees as the engine prints them.
import { decide } from './decide.ts';

export const query = (...body: readonly string[]): string =>
  ['SelectWithUnionQuery (children 1)', ' ExpressionList (children 1)', ...body.map((line) => `  ${line}`)].join('\n');

export const vocabulary = {
  functions: new Set(['tokens', 'file', 'lower', 'repeat', 'url', 'tohour', 'arraymap']),
  names: new Set(['turns', 'tokens', 'a', 'reward', 'turnstream']),
  foreign: new Set(['system']),
};

export const verdict = (text: string, declared: readonly string[] = []) => decide(text, { database: 'turnstream', vocabulary, declared });

export const lines = (text: string): readonly string[] => text.split('\n');
