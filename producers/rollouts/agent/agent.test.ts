import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Action, Observation, Policy, PolicyTurn, Tool, ToolResult } from '../../../streams/core/agents.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { renderAction } from '../../../streams/reward/format.ts';
import { callTool } from './call-tool.ts';
import { runAgent } from './run-agent.ts';
import type { AgentOptions } from './run-agent.ts';
import type { TurnOutcome } from './turn-outcome.ts';
import { clockOf } from '../../../infra/testing/clock.ts';

const turnOf = (action: Action | undefined, more: Partial<PolicyTurn> = {}): PolicyTurn => ({
  action,
  text: action === undefined ? 'nothing with tags' : `<think>so</think>${renderAction(action)}`,
  spans: [{ version: 3, tokens: 5 }],
  promptTokens: 10,
  completionTokens: 5,
  finishReason: 'stop',
  decision: undefined,
  ...more,
});
const found: ToolResult = { status: 'ok', errorType: '', text: 'found ü', items: [{ url: 'u', title: 't' }], cacheHit: true };
const search: Tool = { name: 'search', call: async () => found };
const hanging: Tool = {
  name: 'access',
  call: async (_url, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('socket closed'));
      });
    }),
};

function scripted(...turns: readonly (PolicyTurn | (() => PolicyTurn | Promise<PolicyTurn>))[]): Policy & { seen: Observation[] } {
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

async function run(policy: Policy, options: Partial<AgentOptions> = {}, task: Partial<AgentOptions['task']> = {}) {
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

const ask = turnOf({ tool: 'search', query: 'x' });
const open = turnOf({ tool: 'access', url: 'u' });
const answer = turnOf({ tool: 'answer', answer: 'paris!' }, { spans: [{ version: 4, tokens: 5 }] });

describe('the agent', () => {
  it('searches, answers, and tells each turn with all that an event needs', async () => {
    const policy = scripted(ask, answer);
    const { result, outcomes } = await run(policy);
    expect(result).toMatchObject({ status: 'answered', answer: 'paris!', reward: 1, f1: 1, em: 1, cem: 1, format_ok: true, error: '' });
    expect(result).toMatchObject({
      turns: 2,
      tool_calls: 1,
      tool_errors: 0,
      prompt_tokens: 20,
      completion_tokens: 10,
      version_first: 3,
      version_last: 4,
    });
    expect(result.finished_at).toBeGreaterThan(result.started_at);
    expect(outcomes[0]).toMatchObject({
      turn: 0,
      tool: 'search',
      call_id: 'call-0',
      arguments: '{"query":"x"}',
      status: 'ok',
      result: 'found ü',
      result_chars: 7,
      result_sha256: createHash('sha256').update('found ü').digest('hex'),
      cache_hit: true,
      items: found.items,
      policy_spans: [{ version: 3, tokens: 5 }],
      decision: null,
    });
    expect(outcomes[1]).toMatchObject({
      turn: 1,
      tool: 'answer',
      arguments: '{"answer":"paris!"}',
      status: 'ok',
      result: '',
      result_chars: 0,
    });
    expect(policy.seen[1]?.history).toEqual([{ action: ask.action, result: found, text: ask.text, tokens: 5 }]);
    expect(JSON.stringify(policy.seen)).not.toContain('Paris');
  });
  it('hands the decision over as bytes', async () => {
    const features = new Float32Array([9, 0.5, 1]).subarray(1);
    const decision = { features, candidates: 2, width: 1, chosen: 1, logprob: -0.7, entropy: 0.6 };
    const { outcomes } = await run(scripted(turnOf(answer.action, { decision })));
    const { features: bytes, ...others } = outcomes[0]!.decision!;
    expect([bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.length]).toEqual([0.5, 1, 8]);
    expect(others).toEqual({ candidates: 2, width: 1, chosen: 1, logprob: -0.7, entropy: 0.6 });
  });
  it('goes on after output without a call, and stops at the limit of turns', async () => {
    const { result, outcomes } = await run(scripted(turnOf(undefined), ask));
    expect(outcomes.map(({ status, error_type, tool }) => [status, error_type, tool])).toEqual([
      ['error', 'no_action', ''],
      ...Array.from({ length: 4 }, () => ['ok', '', 'search']),
    ]);
    expect(result).toMatchObject({ status: 'max_turns', answer: '', reward: 0, turns: 5, tool_calls: 4 });
  });
  it('gives nothing for an answer after a turn against the format', async () => {
    const { result } = await run(scripted(turnOf(ask.action, { text: 'Assistant: <search>x</search>' }), answer));
    expect(result).toMatchObject({ status: 'answered', f1: 1, reward: 0, format_ok: false });
  });
  it('stops at the limit of tokens', async () => {
    const { result } = await run(scripted(ask), {}, { max_tokens: 15 });
    expect(result).toMatchObject({ status: 'max_tokens', turns: 1 });
  });
  it('is cancelled between turns', async () => {
    const controller = new AbortController();
    const { result } = await run(
      scripted(() => {
        controller.abort();
        return ask;
      }),
      { signal: controller.signal },
    );
    expect(result).toMatchObject({ status: 'cancelled', turns: 1 });
  });
  it('times out while a tool or a policy hangs', async () => {
    const inTool = await run(scripted(open), {}, { max_wall_ms: 20 });
    expect(inTool.result).toMatchObject({ status: 'timeout', turns: 1, tool_errors: 1 });
    expect(inTool.outcomes[0]).toMatchObject({ status: 'timeout', error_type: 'aborted' });
    const inPolicy = await run(
      scripted(() => new Promise<PolicyTurn>(() => undefined)),
      {},
      { max_wall_ms: 20 },
    );
    expect(inPolicy.result).toMatchObject({ status: 'timeout', turns: 0, version_first: -1, version_last: -1 });
  });
  it('fails with what a policy says, and throws what it does not know', async () => {
    const broken = scripted(() => {
      throw new PlatformError('INTERNAL', 'asking the model: no answer');
    });
    expect((await run(broken)).result).toMatchObject({ status: 'failed', error: 'asking the model: no answer', reward: 0 });
    const bug = scripted(() => {
      throw new TypeError('a bug');
    });
    await expect(run(bug)).rejects.toThrow('a bug');
  });
  it('ends as refused, without an answer, when the model refuses for good', async () => {
    const { result } = await run(
      scripted(() => {
        throw new PlatformError('MODEL_REFUSED', 'asking m: HTTP 401');
      }),
    );
    expect(result).toMatchObject({ status: 'refused', error: 'asking m: HTTP 401', answer: '', reward: 0 });
  });
  it('passes decoding, version and memory on', async () => {
    let given: unknown;
    const policy: Policy = {
      name: 'p',
      decide: async ({ history }, { decoding, version }) => {
        given = { history, decoding, version };
        return answer;
      },
    };
    await run(policy, { memory: () => [] }, { decoding: 'greedy', policy_version: 7, reward: 'em' });
    expect(given).toEqual({ history: [], decoding: 'greedy', version: 7 });
  });
});

describe('limits', () => {
  it.each([32, 64, 128, 200])('%i turns', async (maxTurns) => {
    const policy = scripted(ask);
    const { result, outcomes } = await run(policy, {}, { max_turns: maxTurns });
    expect(result).toMatchObject({ status: 'max_turns', turns: maxTurns });
    expect(outcomes.map(({ turn }) => turn)).toEqual(Array.from({ length: maxTurns }, (_, turn) => turn));
    expect(policy.seen.flatMap(({ final, turn }) => (final === true ? [turn] : []))).toEqual([maxTurns - 1]);
  });
  it('of tokens are those that the policy counts', async () => {
    const policy = scripted(...[100, 500, 899, 900, 999, 1_000].map((spentTokens) => ({ ...ask, spentTokens })));
    const { result } = await run(policy, {}, { max_turns: 50 });
    expect(result).toMatchObject({ status: 'max_tokens', turns: 6 });
    expect(policy.seen.map(({ tokensLeft, final }) => [tokensLeft, final])).toEqual([
      [1_000, false],
      [900, false],
      [500, false],
      [101, false],
      [100, true],
      [1, true],
    ]);
  });
  it('a turn in which nothing was generated costs nothing', async () => {
    const nothing = turnOf(undefined, {
      ...{ text: '', spans: [], promptTokens: 0, completionTokens: 0 },
      withoutCall: { status: 'timeout', errorType: 'model_timeout' },
    });
    const policy = scripted(ask, nothing, answer);
    const { result, outcomes } = await run(policy);
    expect(result).toMatchObject({ status: 'answered', turns: 3 });
    expect(outcomes[1]).toMatchObject({ status: 'timeout', error_type: 'model_timeout', tool: '', call_id: '', policy_spans: [] });
    expect(policy.seen.map(({ tokensLeft }) => tokensLeft)).toEqual([1_000, 985, 985]);
    expect(policy.seen[2]?.history[1]).toMatchObject({ withoutCall: { errorType: 'model_timeout' } });
  });
  it('most of the time being over makes each turn the last', async () => {
    const policy = scripted(ask);
    await run(policy, {}, { max_turns: 3, max_wall_ms: 10 });
    expect(policy.seen.map(({ final }) => final)).toEqual([false, false, true]);
  });
  it('no room in the context of the model ends the attempt', async () => {
    const { result, outcomes } = await run(scripted(ask, turnOf(undefined, { outOfRoom: true })));
    expect(result).toMatchObject({ status: 'max_tokens', turns: 2 });
    expect(outcomes).toHaveLength(2);
  });
  it('the date is that of the request, at every turn', async () => {
    const policy = scripted(ask, answer);
    await run(policy, {}, { occurred_at: 1_700_000_000_000_000 });
    expect(policy.seen.map(({ askedAt }) => askedAt)).toEqual([1_700_000_000_000, 1_700_000_000_000]);
  });
});

it('tokens and logprobs of a turn are recorded', async () => {
  const { outcomes } = await run(scripted({ ...answer, tokenIds: [7, 8], logprobs: [-0.5, -0.25] }));
  expect(outcomes[0]).toMatchObject({ token_ids: [7, 8], logprobs: [-0.5, -0.25] });
});

describe('a tool call', () => {
  const signal = new AbortController().signal;
  it('is refused without the tool', async () => {
    expect(await callTool([], { tool: 'search', query: 'x' }, { timeoutMs: 1_000, signal })).toMatchObject({
      status: 'refused',
      errorType: 'unknown_tool',
    });
  });
  it('times out, and stops at once when the attempt is over', async () => {
    const action = { tool: 'access', url: 'u' } as const;
    expect(await callTool([hanging], action, { timeoutMs: 5, signal })).toMatchObject({ status: 'timeout', errorType: 'timeout' });
    expect(await callTool([hanging], action, { timeoutMs: 5_000, signal: AbortSignal.abort() })).toMatchObject({ errorType: 'aborted' });
  });
  it('throws what a tool throws by itself', async () => {
    const bug: Tool = { name: 'access', call: () => Promise.reject(new TypeError('a bug')) };
    await expect(callTool([bug], { tool: 'access', url: 'u' }, { timeoutMs: 1_000, signal })).rejects.toThrow('a bug');
  });
});
