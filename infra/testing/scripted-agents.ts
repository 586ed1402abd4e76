// Scripted policies and tools, for tests of the code that runs them.
import type { Action, DecideOptions, Observation, Policy, PolicyTurn, Tool, ToolResult } from '../../streams/core/agents.ts';

/** A policy's turn; default: ten tokens of version 0. */
export const policyTurn = (action: Action | undefined, fields: Partial<PolicyTurn> = {}): PolicyTurn => ({
  action,
  text: action === undefined ? '' : `<${action.tool}> it </${action.tool}>`,
  spans: [{ version: 0, tokens: 10 }],
  promptTokens: 100,
  completionTokens: 10,
  finishReason: 'stop',
  decision: undefined,
  ...fields,
});

/** A policy from a function. */
export const policyOf = (
  decide: (observation: Observation, options: DecideOptions) => PolicyTurn | Promise<PolicyTurn>,
  name = 'scripted',
): Policy => ({ name, decide: async (observation, options) => decide(observation, options) });

/** Searches `searches` times, each with a random query, and then answers. */
export const searchThenAnswer = (searches: number, answer = 'Austria'): Policy =>
  policyOf(({ turn }, { random, version }) =>
    turn < searches
      ? policyTurn({ tool: 'search', query: `q${random()}` }, { spans: [{ version: Math.max(0, version), tokens: 10 }] })
      : policyTurn({ tool: 'answer', answer }),
  );

export const toolResult = (fields: Partial<ToolResult> = {}): ToolResult => ({
  status: 'ok',
  errorType: '',
  text: 'Vienna is the capital of Austria.',
  items: [{ url: 'factbook://austria', title: 'Austria' }],
  cacheHit: false,
  ...fields,
});

/** Both tools from one function. */
export const toolsOf = (call: (argument: string, signal: AbortSignal) => ToolResult | Promise<ToolResult>): readonly Tool[] =>
  (['search', 'access'] as const).map((name) => ({ name, call: async (argument, signal) => call(argument, signal) }));

/** Like searchThenAnswer, with turns that take `turnMs`. */
export const slowSearches = (searches: number, turnMs: number): Policy =>
  policyOf(async ({ turn }) => {
    await new Promise((resolve) => setTimeout(resolve, turnMs));
    return policyTurn(turn < searches ? { tool: 'search', query: 'Vienna' } : { tool: 'answer', answer: 'Austria' });
  });
