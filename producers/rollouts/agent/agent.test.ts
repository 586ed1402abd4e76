import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Policy, PolicyTurn } from '../../../streams/core/agents.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { answer, ask, found, run, scripted, turnOf } from './agent.testing.ts';

const open = turnOf({ tool: 'access', url: 'u' });

describe('the agent', () => {
  it('searches, answers, and reports each turn with all fields of its event', async () => {
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
  it('records the features of a decision as bytes', async () => {
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
  it('gives no reward for an answer after a turn that violates the format', async () => {
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
  it('fails with the PlatformError of a policy, and throws any other error', async () => {
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
  it('passes decoding, version and the reduced history to the policy', async () => {
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

it('tokens and logprobs of a turn are recorded', async () => {
  const { outcomes } = await run(scripted({ ...answer, tokenIds: [7, 8], logprobs: [-0.5, -0.25] }));
  expect(outcomes[0]).toMatchObject({ token_ids: [7, 8], logprobs: [-0.5, -0.25] });
});
