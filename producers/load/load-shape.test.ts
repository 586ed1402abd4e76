import { describe, expect, it } from 'vitest';
import { defaultShape } from './shape.ts';
import { codec, eventsOf, faultless, optionsFor, storiesOf } from './load.testing.ts';

describe('the shape of a load', () => {
  const stories = [...storiesOf(eventsOf(optionsFor({ trajectories: 20_000, places: 512, seed: 7 }))).values()];
  const turns = stories.flatMap((story) => story.turns);
  const lengths = stories.filter(({ finished }) => finished?.status === 'answered').map((story) => story.turns.length);
  const sorted = [...lengths].sort((a, b) => a - b);
  const share = (count: number): number => count / turns.length;

  it('has 6 to 8 turns on average, a lower median, and a tail to the limit', () => {
    const mean = lengths.reduce((sum, n) => sum + n, 0) / lengths.length;
    expect(mean).toBeGreaterThan(6);
    expect(mean).toBeLessThan(8);
    expect(sorted[sorted.length >> 1]).toBeLessThan(mean);
    expect(sorted[Math.floor(sorted.length * 0.99)]).toBeGreaterThan(30);
    expect(stories.some(({ finished }) => finished?.status === 'max_turns' && finished.turns === defaultShape.maxTurns)).toBe(true);
  });

  it('has no trajectory over the token limit, but some with ten times the median', () => {
    const tokens = stories.map((story) => story.turns.reduce((sum, turn) => sum + turn.completion_tokens, 0)).sort((a, b) => a - b);
    expect(tokens.at(-1)).toBeLessThanOrEqual(defaultShape.maxTokens);
    expect(tokens[Math.floor(tokens.length * 0.99)]).toBeGreaterThan(10 * (tokens[tokens.length >> 1] ?? 0));
  });

  it('spans several versions, which never go back within an attempt', () => {
    const spans = stories.map((story) => story.turns.flatMap((turn) => turn.policy_spans.map(({ version }) => version)));
    for (const versions of spans) expect(versions).toEqual([...versions].sort((a, b) => a - b));
    const several = spans.filter((versions) => new Set(versions).size > 1).length;
    expect(several / spans.length).toBeGreaterThan(0.4);
    for (const turn of turns.slice(0, 5_000)) {
      expect(turn.policy_spans.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(turn.completion_tokens);
    }
  });

  it('has slow tools: the slowest hundredth takes more than ten times as long as the median', () => {
    const latencies = turns
      .filter(({ tool }) => tool === 'search')
      .map(({ latency_ms: ms }) => ms)
      .sort((a, b) => a - b);
    expect(latencies[Math.floor(latencies.length * 0.99)]).toBeGreaterThan(10 * (latencies[latencies.length >> 1] ?? 0));
  });

  it('has about one fault in a hundred', () => {
    const failed = share(turns.filter(({ status }) => status !== 'ok').length);
    expect(failed).toBeGreaterThan(0.005);
    expect(failed).toBeLessThan(0.02);
    const broken = stories.filter(({ finished }) => finished === undefined || ['cancelled', 'failed'].includes(finished.status)).length;
    expect(broken / stories.length).toBeGreaterThan(0.003);
    expect(broken / stories.length).toBeLessThan(0.02);
  });

  it.each([500, 2_000, 20_000])('has turns of the configured %d bytes', (turnBytes) => {
    const sized = eventsOf(optionsFor({ shape: { ...faultless, turnBytes } })).flatMap(({ type, event }) =>
      type === 'TurnRecorded' ? [codec.encode(type, event).length] : [],
    );
    const mean = sized.reduce((sum, size) => sum + size, 0) / sized.length;
    expect(Math.abs(mean - turnBytes)).toBeLessThan(25);
  });
});
