// Shared by the tests of the agent: scripted policies and tools.
import type { Action, Observation, Policy, PolicyTurn, Tool, ToolResult } from '../../../streams/core/agents.ts';
import { renderAction } from '../../../streams/reward/format.ts';
import { runAgent, type AgentOptions } from './run-agent.ts';
import type { TurnOutcome } from './turn-outcome.ts';
import { clockOf } from '../../../infra/testing/clock.ts';

export const turnOf = (action: Action | undefined, more: Partial<PolicyTurn> = {}): PolicyTurn => ({
  action,
  text: action === undefined ? 'nothing with tags' : `<think>so</think>${renderAction(action)}`,
  spans: [{ version: 3, tokens: 5 }],
  promptTokens: 10,
  completionTokens: 5,
  finishReason: 'stop',
  decision: undefined,
  ...more,
});

export const found: ToolResult = { status: 'ok', errorType: '', text: 'found ü', items: [{ url: 'u', title: 't' }], cacheHit: true };

const search: Tool = { name: 'search', call: async () => found };

export const hanging: Tool = {
  name: 'access',
  call: async (_url, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('socket closed'));
      });
    }),
};

export function scripted(...turns: readonly (PolicyTurn | (() => PolicyTurn | Promise<PolicyTurn>))[]): Policy & { seen: Observation[] } {
  const seen: Observation[] = [];
  return {
    name: 'scripted',
    seen,
    async decide(observation) {
      seen.push({ ...observation, history: [...observation.history] });
      const turn = turns[Math.min(observation.turn, turns.length - 1)]!;
      return typeof turn === 'function' ? turn() : turn;
    },
  };
}

export async function run(policy: Policy, options: Partial<AgentOptions> = {}, task: Partial<AgentOptions['task']> = {}) {
  const outcomes: TurnOutcome[] = [];
  let now = 1_000;
  const result = await runAgent({
    policy,
    tools: [search, hanging],
    clock: clockOf(() => (now += 1)),
    random: () => 0,
    signal: new AbortController().signal,
    toolTimeoutMs: 5_000,
    onTurn: (outcome) => {
      outcomes.push(outcome);
    },
    ...options,
    task: {
      question: 'q?',
      answers: ['Paris'],
      aug_answers: [],
      reward: 'f1',
      decoding: 'sample',
      policy_version: -1,
      max_turns: 5,
      max_tokens: 1_000,
      max_wall_ms: 60_000,
      ...task,
    },
  });
  return { result, outcomes };
}

export const ask = turnOf({ tool: 'search', query: 'x' });

export const answer = turnOf({ tool: 'answer', answer: 'paris!' }, { spans: [{ version: 4, tokens: 5 }] });
