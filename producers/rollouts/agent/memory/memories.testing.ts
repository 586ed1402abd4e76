// Shared by the tests of memories: observations, results and past turns, and the prompt that a memory makes of them.
import type { Action, Observation, PastTurn, ToolResult } from '../../../../streams/core/agents.ts';
import { renderAction } from '../../../../streams/reward/format.ts';
import type { AgentMemory } from './memory.ts';

export const observation = (history: readonly PastTurn[], more: Partial<Observation> = {}): Observation => ({
  ...{ question: 'Which river?', turn: history.length, maxTurns: 128, history },
  ...more,
});

export const result = (text: string, more: Partial<ToolResult> = {}): ToolResult => ({
  status: 'ok',
  errorType: '',
  text,
  items: [],
  cacheHit: false,
  ...more,
});

export const turn = (action: Action, found: ToolResult, thought = 'hm'): PastTurn => ({
  ...{ action, result: found, text: `${thought}</think>\n${renderAction(action)}`, tokens: 10 },
});

export const search = (text: string, items = 10): PastTurn =>
  turn({ tool: 'search', query: 'q' }, result(text, { items: Array.from({ length: items }, (_, at) => ({ url: `u${at}`, title: 't' })) }));

export const open = (text: string): PastTurn => turn({ tool: 'access', url: 'u' }, result(text));

export const wrote = (text: string, status: 'ok' | 'error' | 'refused' | 'timeout' = 'ok', errorType = ''): PastTurn => ({
  ...{ action: undefined, result: undefined, text, tokens: 5, withoutCall: { status, errorType } },
});

export const text = (memory: AgentMemory, asked: Observation): string =>
  memory
    .ask(asked)
    .prompt.map((part) => part.text)
    .join('');
