import { describe, expect, it } from 'vitest';
import { createTestClock } from '../../../infra/testing/clock.ts';
import { policyOf, policyTurn, toolResult, toolsOf } from '../../../infra/testing/scripted-agents.ts';
import { createRandom } from '../../../streams/core/random.ts';
import { logNormalOfMeanOne, slowPolicy, slowTool, type Wait } from './latency-model.ts';

const model = { generationMs: 100, toolMs: 10, sigma: 0.75 };
const { signal } = new AbortController();
const observation = { question: 'q', turn: 0, maxTurns: 8, history: [] };
const optionsOf = (random: () => number) => ({ decoding: 'sample', random, version: -1, signal }) as const;

function recorder(): { readonly waits: number[]; readonly wait: Wait } {
  const waits: number[] = [];
  return { waits, wait: async (ms) => void waits.push(ms) };
}

describe('the latency model', () => {
  it('draws factors with a mean of 1, of which the largest of 2,048 is about 10', () => {
    const random = createRandom(1);
    const means: number[] = [];
    const slowest: number[] = [];
    for (let batch = 0; batch < 100; batch += 1) {
      const drawn = Array.from({ length: 2_048 }, () => logNormalOfMeanOne(random, 0.75));
      means.push(drawn.reduce((sum, value) => sum + value, 0) / drawn.length);
      slowest.push(Math.max(...drawn));
    }
    const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(mean(means)).toBeCloseTo(1, 1);
    expect(mean(slowest)).toBeGreaterThan(8);
    expect(mean(slowest)).toBeLessThan(14);
    expect(logNormalOfMeanOne(random, 0)).toBe(1);
  });

  it('makes all turns of an attempt equally slow, but different attempts differently slow', async () => {
    const { waits, wait } = recorder();
    const policy = slowPolicy(
      policyOf(() => policyTurn({ tool: 'answer', answer: 'a' })),
      model,
      wait,
    );
    const [one, other] = [createRandom(1), createRandom(2)];
    for (const random of [one, one, other, one]) expect((await policy.decide(observation, optionsOf(random))).text).toContain('answer');
    expect(new Set([waits[0], waits[1], waits[3]]).size).toBe(1);
    expect(waits[2]).not.toBe(waits[0]);
    const again = recorder();
    await slowPolicy(
      policyOf(() => policyTurn(undefined)),
      model,
      again.wait,
    ).decide(observation, optionsOf(createRandom(1)));
    expect(again.waits[0]).toBe(waits[0]);
  });

  it('draws a delay for every tool call and returns the result of the tool', async () => {
    const { waits, wait } = recorder();
    for (const tool of toolsOf((argument) => toolResult({ text: argument }))) {
      const slow = slowTool(tool, model, wait);
      expect(slow.name).toBe(tool.name);
      expect((await slow.call('x', signal)).text).toBe('x');
      await slow.call('y', signal);
    }
    expect(new Set(waits).size).toBe(4);
  });

  it('waits on the given clock, but no longer than until the signal aborts', async () => {
    const [tool] = toolsOf(() => toolResult());
    const [clock, stop] = [createTestClock(), new AbortController()];
    const slow = slowTool(tool!, { ...model, toolMs: 1e9 }, clock.sleep);
    const [stopped, whole] = [slow.call('x', stop.signal), slow.call('x', signal)];
    stop.abort();
    expect((await stopped).status).toBe('ok');
    expect(clock.sleepers()).toBe(1);
    await clock.advance(1e12);
    expect((await whole).status).toBe('ok');
    await expect(slow.call('x', stop.signal)).resolves.toMatchObject({ status: 'ok' });
  });
});
