// Turns of an agent against an engine that reports every token: what is recorded is what the engine read and wrote.
import { afterEach, describe, expect, it } from 'vitest';
import { createTranscriptMemory } from '../../producers/rollouts/agent/memory/transcript.ts';
import { runAgent } from '../../producers/rollouts/agent/run-agent.ts';
import type { TurnOutcome } from '../../producers/rollouts/agent/turn-outcome.ts';
import { createLlmPolicy } from '../../producers/rollouts/policies/llm/llm.ts';
import { noMetrics } from '../../streams/core/telemetry.ts';
import { clockOf } from '../testing/clock.ts';
import { silentLogger } from '../testing/logger.ts';
import { startTokenEngine, type EngineOptions, type TokenEngine } from '../testing/token-engine.ts';
import { createServedModel } from './openai-model.ts';
import type { LlmOptions } from './options.ts';

const TOKENIZER = 'ab'.repeat(32);
const TURNS = 5;
const search = (turn: number): string => `<think>now ${turn} ü</think><search> capital ${turn} </search>`;
const never = new AbortController().signal;

let engine: TokenEngine | undefined;
afterEach(async () => {
  await engine?.close();
});

interface RecordedTurns {
  readonly engine: TokenEngine;
  readonly turns: readonly TurnOutcome[];
  readonly breaks: number;
}

async function record(given: EngineOptions, options: Partial<LlmOptions> = {}): Promise<RecordedTurns> {
  const started = await startTokenEngine(given);
  engine = started;
  const model = createServedModel(
    {
      ...{ url: started.url, api: 'chat', model: 'asked', apiKey: '', temperature: 0.7, topP: 0.9, stream: false, logprobs: true },
      ...{ extra: { top_k: 20, user: 'secret' }, versionFrom: [], tokenIds: true, logprobsKind: 'processed', tokenizerSha256: TOKENIZER },
      ...{ goOn: true, concurrency: 1, retries: 0, retryMs: [1, 2], timeoutMs: 20_000, idleMs: 20_000 },
      ...options,
    },
    { logger: silentLogger, metrics: noMetrics, random: () => 0.5 },
  );
  const turns: TurnOutcome[] = [];
  let breaks = 0;
  await runAgent({
    policy: createLlmPolicy({ model, memory: createTranscriptMemory({ takes: model.takes }), maxTokensPerTurn: 1_000 }),
    tools: [
      { name: 'search', call: async (query) => ({ status: 'ok', errorType: '', text: `found ${query}`, items: [], cacheHit: false }) },
    ],
    task: {
      ...{ question: 'Which capital?', answers: ['Vienna'], aug_answers: [], reward: 'f1', decoding: 'sample', policy_version: -1 },
      ...{ max_turns: TURNS, max_tokens: 1_000_000, max_wall_ms: 60_000 },
    },
    ...{ clock: clockOf(() => 1_000), random: () => 0.25, signal: never, toolTimeoutMs: 5_000 },
    onTurn: (outcome) => void turns.push(outcome),
    onPrefixBreak: () => void (breaks += 1),
  });
  model.close();
  return { engine: started, turns, breaks };
}

/** The whole prompt of a turn, assembled from the recorded differences. */
function promptOf(turns: readonly TurnOutcome[], turn: number): readonly number[] {
  const { branch_parent: parent, prompt_keep: keep, prompt_ids: ids } = turns[turn]!;
  return parent < 0 ? ids : [...promptOf(turns, parent), ...turns[parent]!.token_ids].slice(0, keep).concat(ids);
}

const dialects = (['vllm', 'sglang'] as const).flatMap((dialect) =>
  (['chat', 'completions'] as const).flatMap((api) => [true, false].map((stream) => ({ dialect, api, stream }))),
);

describe.each(dialects)('$dialect, $api, streaming $stream', ({ dialect, api, stream }) => {
  it('records every token that the engine read and wrote', async () => {
    const { engine: asked, turns, breaks } = await record({ dialect, writes: search }, { api, stream });
    expect(turns).toHaveLength(TURNS);
    turns.forEach((turn, at) => {
      expect(promptOf(turns, at)).toEqual(asked.calls[at]!.promptIds);
      expect(turn.token_ids).toEqual(asked.calls[at]!.completionIds);
      expect(turn.logprobs).toHaveLength(turn.token_ids.length);
      expect(turn.branch_parent).toBe(at - 1);
      expect(turn.prompt_sha256).toMatch(/^[0-9a-f]{64}$/);
    });
    expect(breaks).toBe(0);
    const whole = turns.reduce((sum, { prompt_ids }) => sum + prompt_ids.length, 0);
    expect(whole, 'prompts are differences').toBeLessThan(asked.calls.at(-1)!.promptIds.length);
  });

  it('records where the tokens come from', async () => {
    const { turns } = await record({ dialect, writes: search }, { api, stream });
    expect(turns[1]).toMatchObject({
      ...{ request_id: 'call-1', model: 'served', engine: 'engine-1', tokenizer_sha256: TOKENIZER, logprobs_kind: 'processed' },
      ...{ loss_mask: [], images: [], extras: [], more_calls: [] },
    });
    const sampling = JSON.parse(turns[1]!.sampling) as Record<string, unknown>;
    expect(sampling).toMatchObject({ temperature: 0.7, top_p: 0.9, top_k: 20, seed: 2 ** 29 });
    expect(Object.keys(sampling)).not.toEqual(expect.arrayContaining(['user']));
    const { text, token_ends: ends, token_ids: ids } = turns[1]!;
    if (api === 'completions') expect(ends).toEqual([]);
    else {
      expect(ends).toHaveLength(ids.length);
      const read = ends.map((end, at) =>
        Buffer.from(text)
          .subarray(ends[at - 1] ?? 0, end)
          .toString(),
      );
      expect(read.join('')).toBe(text);
      expect(read.map((character) => character.codePointAt(0))).toEqual(ids);
    }
  });
});

describe('recording tokens', () => {
  const dropsThinking = (content: string): string => content.replace(/<think>.*?<\/think>/gs, '');

  it('begins a branch where the template drops thinking, and keeps the equal part', async () => {
    const { engine: asked, turns, breaks } = await record({ dialect: 'vllm', writes: search, shows: dropsThinking });
    expect(turns.map((_, at) => promptOf(turns, at))).toEqual(asked.calls.map(({ promptIds }) => promptIds));
    expect(breaks).toBe(TURNS - 1);
    const { branch_parent: parent, prompt_keep: keep } = turns[2]!;
    expect(parent).toBe(1);
    expect(keep).toBeLessThan(asked.calls[1]!.promptIds.length + asked.calls[1]!.completionIds.length);
  });

  it('makes one turn of an interrupted and continued generation', async () => {
    const writes = (call: number): string => (call === 2 ? search(1).slice(9) : search(Math.min(call, 1)));
    const { engine: asked, turns } = await record({ dialect: 'sglang', writes, abortsAfter: (call) => (call === 1 ? 9 : undefined) });
    expect(asked.calls).toHaveLength(TURNS + 1);
    expect(promptOf(turns, 1)).toEqual(asked.calls[1]!.promptIds);
    expect(turns[1]!.token_ids).toEqual([...asked.calls[1]!.completionIds, ...asked.calls[2]!.completionIds]);
    expect(turns[1]!.text).toBe(search(1));
    expect(turns[1]!.token_ends).toHaveLength(turns[1]!.token_ids.length);
  });

  it('has no prompt for a turn whose continuation began from other tokens than those generated before', async () => {
    const writes = (call: number): string => (call === 2 ? search(1).slice(9) : search(Math.min(call, 1)));
    const abortsAfter = (call: number): number | undefined => (call === 1 ? 9 : undefined);
    const { turns } = await record({ dialect: 'vllm', writes, abortsAfter, begins: (content) => ` ${content}` });
    expect(turns[1]).toMatchObject({ branch_parent: -1, prompt_keep: 0, prompt_ids: [], prompt_sha256: '' });
    expect(turns[2]!.prompt_ids.length).toBeGreaterThan(0);
  });

  it('has no tokens unless they are requested', async () => {
    const { turns } = await record({ dialect: 'vllm', writes: search }, { tokenIds: false, logprobs: false });
    expect(turns[1]).toMatchObject({
      branch_parent: -1,
      prompt_ids: [],
      prompt_sha256: '',
      token_ids: [],
      logprobs_kind: '',
      token_ends: [],
    });
  });
});
