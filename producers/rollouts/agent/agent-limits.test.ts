import { describe, expect, it } from 'vitest';
import type { Tool } from '../../../streams/core/agents.ts';
import { callTool } from './call-tool.ts';
import { clockOf } from '../../../infra/testing/clock.ts';
import { answer, ask, hanging, run, scripted, turnOf } from './agent.testing.ts';

describe('limits', () => {
  it.each([32, 64, 128, 200])('%i turns', async (maxTurns) => {
    const policy = scripted(ask);
    const { result, outcomes } = await run(policy, {}, { max_turns: maxTurns });
    expect(result).toMatchObject({ status: 'max_turns', turns: maxTurns });
    expect(outcomes.map(({ turn }) => turn)).toEqual(Array.from({ length: maxTurns }, (_, turn) => turn));
    expect(policy.seen.flatMap(({ final, turn }) => (final === true ? [turn] : []))).toEqual([maxTurns - 1]);
  });
  it('on tokens apply to the token count that the policy reports', async () => {
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
  it('a turn is marked as final when the time is nearly over', async () => {
    let now = 0;
    const askSlowly = () => {
      now += 27_000;
      return ask;
    };
    const policy = scripted(askSlowly, askSlowly, answer);
    await run(policy, { clock: clockOf(() => now) }, { max_wall_ms: 60_000 });
    expect(policy.seen.map(({ final }) => final)).toEqual([false, false, true]);
  });
  it('a full model context ends the attempt', async () => {
    const { result, outcomes } = await run(scripted(ask, turnOf(undefined, { outOfRoom: true })));
    expect(result).toMatchObject({ status: 'max_tokens', turns: 2 });
    expect(outcomes).toHaveLength(2);
  });
  it('the date is that of the task, at every turn', async () => {
    const policy = scripted(ask, answer);
    await run(policy, {}, { occurred_at: 1_700_000_000_000_000 });
    expect(policy.seen.map(({ askedAt }) => askedAt)).toEqual([1_700_000_000_000, 1_700_000_000_000]);
  });
});

describe('a tool call', () => {
  const signal = new AbortController().signal;
  it('is refused when the agent does not have the tool', async () => {
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
  it('rejects with an error that the tool throws', async () => {
    const bug: Tool = { name: 'access', call: () => Promise.reject(new TypeError('a bug')) };
    await expect(callTool([bug], { tool: 'access', url: 'u' }, { timeoutMs: 1_000, signal })).rejects.toThrow('a bug');
  });
});
