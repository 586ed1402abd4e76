import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action, Policy, Tool, ToolResult } from '../../../streams/core/agents.ts';
import { renderAction } from '../../../streams/reward/format.ts';
import { endsEpisode, plainEpisode, stepReward, type Episode } from './episode.ts';
import { runAgent } from './run-agent.ts';
import type { TurnOutcome } from './turn-outcome.ts';
import { systemClock } from '../../../infra/lifecycle/clock.ts';

const resultOf = (chars: number, status: ToolResult['status'] = 'ok'): ToolResult => ({
  ...{ status, errorType: status === 'ok' ? '' : 'not_found', text: 'x'.repeat(chars), items: [], cacheHit: false },
});
const compact: Episode = { stepReward: 'length', answersToEnd: 3 };

describe('the reward of a step', () => {
  it.each([
    ['nothing found', resultOf(0), 0],
    ['little found', resultOf(120), 0.12],
    ['just enough', resultOf(500), 0.5],
    ['more than enough', resultOf(25_000), 0.5],
    ['an error', resultOf(0, 'error'), -0.1],
    ['an error with a long message', resultOf(4_000, 'error'), -0.1],
    ['a timeout', resultOf(0, 'timeout'), -0.1],
    ['a refusal', resultOf(60, 'refused'), -0.1],
    ['no tool call', undefined, 0],
  ] as const)('%s', (_name, result, expected) => {
    expect(stepReward(compact, result)).toBeCloseTo(expected, 12);
    expect(stepReward(plainEpisode, result)).toBe(0);
  });
  it('lies in -0.1..0.5 and never decreases with the length of the result', () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.nat(2_000), fc.constantFrom('ok', 'error', 'timeout', 'refused'), (short, more, status) => {
        const [less, greater] = [stepReward(compact, resultOf(short, status)), stepReward(compact, resultOf(short + more, status))];
        expect(less).toBeGreaterThanOrEqual(-0.1);
        expect(greater).toBeLessThanOrEqual(0.5);
        expect(greater).toBeGreaterThanOrEqual(less);
      }),
    );
  });
});

it.each([
  [1, 0, false],
  [1, 1, true],
  [3, 2, false],
  [3, 3, true],
  [0, 0, false],
])('with answersToEnd %i, %i answers in a row end the episode: %s', (answersToEnd, inRow, ends) => {
  expect(endsEpisode({ ...compact, answersToEnd }, inRow)).toBe(ends);
});

const search: Action = { tool: 'search', query: 'q' };
const open: Action = { tool: 'access', url: 'u' };
const answer = (text: string): Action => ({ tool: 'answer', answer: text });

const scripted = (actions: readonly (Action | undefined)[]): Policy => ({
  name: 'scripted',
  async decide({ turn }) {
    const action = actions[turn % actions.length];
    return {
      action,
      text: action === undefined ? 'hm' : renderAction(action),
      spans: [{ version: 1, tokens: 1 }],
      promptTokens: 1,
      completionTokens: 1,
      finishReason: 'stop',
      decision: undefined,
    };
  },
});
const tools: readonly Tool[] = [
  { name: 'search', call: async () => resultOf(250) },
  { name: 'access', call: async () => resultOf(90, 'error') },
];

async function play(actions: readonly (Action | undefined)[], { episode, maxTurns = 200 }: { episode?: Episode; maxTurns?: number } = {}) {
  const outcomes: TurnOutcome[] = [];
  const result = await runAgent({
    policy: scripted(actions),
    ...{ tools, clock: systemClock, random: () => 0, signal: new AbortController().signal, toolTimeoutMs: 1_000 },
    ...(episode === undefined ? {} : { episode }),
    onTurn: (outcome) => {
      outcomes.push(outcome);
    },
    task: {
      ...{ question: 'q?', answers: ['Paris'], aug_answers: [], reward: 'f1', decoding: 'sample', policy_version: -1 },
      ...{ max_turns: maxTurns, max_tokens: 1_000_000, max_wall_ms: 60_000 },
    },
  });
  return { result, rewards: outcomes.map(({ reward }) => reward) };
}

describe('an episode', () => {
  it.each([
    ['three answers in a row end it', [answer('Rome'), answer('Oslo'), answer('Paris')], 3, 'answered', 'Paris', 1],
    [
      'a search in between restarts the count',
      [answer('Paris'), answer('Paris'), search, answer('a'), answer('b'), answer('c')],
      6,
      'answered',
      'c',
      0,
    ],
    [
      'so does output without a call',
      [answer('a'), answer('a'), undefined, answer('Paris'), answer('Paris'), answer('Paris')],
      6,
      'answered',
      'Paris',
      1,
    ],
    ['without three, 200 turns end it, and the last answer counts', [search, answer('Paris'), open], 200, 'max_turns', 'Paris', 1],
    ['without any answer, the result has none', [search, open], 200, 'max_turns', '', 0],
  ] as const)('%s', async (...[, actions, turns, status, said, reward]) => {
    const { result } = await play(actions, { episode: compact });
    expect(result).toMatchObject({ turns, status, answer: said, reward });
  });
  it('records the step reward of each turn, besides the reward at its end', async () => {
    const { result, rewards } = await play([search, open, answer('Paris'), undefined, answer('x'), answer('x'), answer('Paris')], {
      episode: compact,
    });
    expect(rewards).toEqual([0.25, -0.1, 0, 0, 0, 0, 0]);
    expect(result).toMatchObject({ reward: 1, tool_errors: 1, turns: 7 });
  });
  it('by default ends at the first answer and has no step rewards', async () => {
    const { result, rewards } = await play([search, answer('Paris'), answer('Rome')]);
    expect(result).toMatchObject({ status: 'answered', answer: 'Paris', turns: 2 });
    expect(rewards).toEqual([0, 0]);
  });
});
