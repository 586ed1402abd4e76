// Shared by the tests of calls: scripted moves, and a policy that plays them by functions or by tags.
import { afterAll, beforeAll } from 'vitest';
import { createServedModel } from '../../../../infra/llm/openai-model.ts';
import { clockOf } from '../../../../infra/testing/clock.ts';
import { startLlmServer, type LlmServer, type Says, type SeenRequest } from '../../../../infra/testing/llm-server.ts';
import { silentLogger } from '../../../../infra/testing/logger.ts';
import { toolResult } from '../../../../infra/testing/scripted-agents.ts';
import type { Tool } from '../../../../streams/core/agents.ts';
import { noMetrics } from '../../../../streams/core/telemetry.ts';
import { createBoundedMemory } from '../../agent/memory/bounded.ts';
import type { CallForm } from '../../agent/memory/memory.ts';
import { createTranscriptMemory } from '../../agent/memory/transcript.ts';
import { runAgent } from '../../agent/run-agent.ts';
import type { TurnOutcome } from '../../agent/turn-outcome.ts';
import { createLlmPolicy } from './llm.ts';

/** A turn of the scripted model. */
export type ScriptedMove =
  | { readonly kind: 'search' | 'access' | 'answer'; readonly argument: string }
  | { readonly kind: 'thinks' }
  | { readonly kind: 'says'; readonly says: Says };

export const search = (argument: string): ScriptedMove => ({ kind: 'search', argument });

export const access = (argument: string): ScriptedMove => ({ kind: 'access', argument });

export const answer = (argument: string): ScriptedMove => ({ kind: 'answer', argument });

export const thinks: ScriptedMove = { kind: 'thinks' };

const parameters = { search: 'query', access: 'url', answer: 'answer' } as const;

function saying(move: ScriptedMove, form: CallForm): Says {
  if (move.kind === 'says') return move.says;
  if (move.kind === 'thinks') return { kind: 'says', text: 'I wonder.' };
  const { kind, argument } = move;
  if (form === 'tags') return { kind: 'says', text: `So.</think>\n<${kind}> ${argument} </${kind}>` };
  return {
    kind: 'says',
    text: 'So.',
    calls: [{ name: kind, arguments: JSON.stringify({ [parameters[kind]]: argument }), id: `c-${kind}` }],
  };
}

let server: LlmServer;

/** Call it at the top level of a test file. */
export function setUpCalls(): void {
  beforeAll(async () => {
    server = await startLlmServer();
  });
  afterAll(() => server.close());
}

const tools: readonly Tool[] = [
  { name: 'search', call: (query) => Promise.resolve(toolResult({ text: `found ${query}` })) },
  {
    name: 'access',
    call: (url) =>
      Promise.resolve(
        url === 'u'
          ? toolResult({ text: 'a page of two pieces' })
          : toolResult({ status: 'error', errorType: 'not_found', text: 'no page' }),
      ),
  },
];

export interface Played {
  readonly turns: readonly TurnOutcome[];
  readonly requests: readonly SeenRequest[];
  readonly result: Awaited<ReturnType<typeof runAgent>>;
}

interface Way {
  readonly form: CallForm;
  readonly stream?: boolean;
  readonly bounded?: boolean;
}

export async function play(moves: readonly ScriptedMove[], { form, stream = true, bounded = false }: Way): Promise<Played> {
  const requests: SeenRequest[] = [];
  server.setScript((request) => {
    requests.push(request);
    return saying(moves[requests.length - 1] ?? thinks, form);
  });
  const model = createServedModel(
    {
      ...{ url: server.url, api: 'chat', model: 'm', apiKey: '', temperature: 1, topP: 1, stream, logprobs: false, extra: {} },
      ...{ versionFrom: [], concurrency: 1, retries: 0, retryMs: [1, 2], timeoutMs: 5_000, idleMs: 5_000 },
    },
    { logger: silentLogger, metrics: noMetrics, random: () => 0.5 },
  );
  const memory = bounded
    ? createBoundedMemory({ calls: form, enoughDocuments: 2, pieceChars: 10 })
    : createTranscriptMemory({ takes: 'chat', calls: form, pieceChars: 10 });
  const turns: TurnOutcome[] = [];
  const task = {
    question: 'Which city?',
    answers: ['Vienna'],
    aug_answers: [],
    reward: 'f1',
    decoding: 'greedy',
    policy_version: -1,
  } as const;
  const result = await runAgent({
    ...{ policy: createLlmPolicy({ model, memory, maxTokensPerTurn: 100 }), tools, clock: clockOf(() => 5), random: () => 0.5 },
    task: { ...task, max_turns: moves.length, max_tokens: 100_000, max_wall_ms: 60_000 },
    ...{
      signal: new AbortController().signal,
      toolTimeoutMs: 1_000,
      memory: memory.forget,
      onTurn: (turn: TurnOutcome) => void turns.push(turn),
    },
  });
  model.close();
  return { turns, requests, result };
}
