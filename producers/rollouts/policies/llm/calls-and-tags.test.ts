import { describe, expect, it } from 'vitest';
import { access, answer, play, search, setUpCalls, thinks, type Played, type ScriptedMove } from './calls.testing.ts';

setUpCalls();

/** The fields of a turn that must not depend on how its call was written. */
const columns = ({ turns, result }: Played) => ({
  turns: turns.map(({ turn, tool, call_id, arguments: given, status, error_type, result: found, result_sha256, items, reward }) => ({
    ...{ turn, tool, call_id, given, status, error_type, found, result_sha256, items, reward },
  })),
  ending: (({ status, answer: said, reward, f1, format_ok, turns: count, tool_calls, tool_errors }) => ({
    ...{ status, said, reward, f1, format_ok, count, tool_calls, tool_errors },
  }))(result),
});

const stories: readonly (readonly [string, readonly ScriptedMove[]])[] = [
  ['searches, opens a page, reads it and answers', [search('a'), access('u'), thinks, thinks, search('b'), answer('Vienna')]],
  ['makes no call, and calls of no use', [thinks, search(''), search('a'), access('gone'), answer('Paris')]],
  ['answers at once', [answer('Vienna'), search('a'), search('b'), answer('Vienna')]],
  ['never answers', [search('a'), search('b')]],
];

describe.each([
  ['transcript', true],
  ['transcript', false],
  ['bounded', true],
  ['bounded', false],
] as const)('a %s agent, streamed: %s', (name, stream) => {
  it.each(stories)('%s, recorded equally by functions and by tags', async (_, moves) => {
    const ways = { stream, bounded: name === 'bounded' };
    const [tags, functions] = [await play(moves, { form: 'tags', ...ways }), await play(moves, { form: 'functions', ...ways })];
    expect(columns(functions)).toEqual(columns(tags));
    expect(functions.turns.every(({ completion_tokens }) => completion_tokens > 0)).toBe(true);
    for (const { body } of tags.requests) expect(body).not.toHaveProperty('tools');
  });
});
