import { describe, expect, it } from 'vitest';
import type { Observation, PolicyTurn } from '../../../../streams/core/agents.ts';
import { createRandom } from '../../../../streams/core/random.ts';
import { parseAction } from '../../../../streams/reward/format.ts';
import { runAgent } from '../../agent/run-agent.ts';
import type { TurnOutcome } from '../../agent/turn-outcome.ts';
import { MAX_CANDIDATES } from './candidates.ts';
import { RANKER_WIDTH } from './features.ts';
import { createRankerPolicy, type PolicyVersions } from './ranker.ts';
import { clockOf } from '../../../../infra/testing/clock.ts';
import { THREE, TWO, failed, signal, tools } from './ranker.testing.ts';

/** Scores with fixed pseudorandom weights, so that choices are neither uniform nor always the same. */
const versionsOf = (asked: number[] = []): PolicyVersions => {
  const weights = Array.from(
    { length: RANKER_WIDTH },
    (
      (random) => () =>
        random() * 2 - 1
    )(createRandom(5)),
  );
  return {
    newest: () => 4,
    async scorer(version) {
      asked.push(version);
      return {
        version: version < 0 ? 4 : version,
        scorer: {
          async score(features, candidates) {
            const sum = (row: number): number =>
              weights.reduce((total, weight, at) => total + weight * (features[row * RANKER_WIDTH + at] ?? 0), 0);
            return Float32Array.from({ length: candidates }, (_, row) => sum(row));
          },
          dispose: () => undefined,
        },
      };
    },
  };
};

async function run(question: string, { answers = ['x'], seed = 1, decoding = 'sample', maxTurns = 12 } = {}) {
  const turns: TurnOutcome[] = [];
  const result = await runAgent({
    policy: createRankerPolicy(versionsOf()),
    tools,
    task: {
      question,
      answers,
      aug_answers: [],
      reward: 'f1',
      decoding,
      policy_version: -1,
      max_turns: maxTurns,
      max_tokens: 1_000_000,
      max_wall_ms: 60_000,
    },
    clock: clockOf(() => 0),
    random: createRandom(seed),
    signal,
    toolTimeoutMs: 5_000,
    onTurn: (turn) => void turns.push(turn),
  });
  return { result, turns };
}

const decide = async (observation: Partial<Observation>, version = -1, versions = versionsOf()): Promise<PolicyTurn> =>
  createRankerPolicy(versions).decide(
    { question: TWO, turn: 0, maxTurns: 12, history: [], ...observation },
    { decoding: 'greedy', random: () => 0, version, signal },
  );

describe('the ranker', () => {
  it('does not depend on the gold answers', async () => {
    for (const question of [TWO, THREE]) {
      for (let seed = 0; seed < 10; seed += 1) {
        const one = await run(question, { answers: ['Grossglockner'], seed });
        const other = await run(question, { answers: ['something else entirely'], seed });
        expect(other.turns.map((turn) => ({ ...turn, cache_hit: true }))).toEqual(one.turns.map((turn) => ({ ...turn, cache_hit: true })));
      }
    }
  });
  it('records finite features of a fixed width, a bounded number of candidates, and the probability of its choice', async () => {
    let decisions = 0;
    for (let seed = 0; seed < 30; seed += 1) {
      const { turns } = await run(seed % 2 === 0 ? TWO : THREE, { seed });
      for (const { decision, text, policy_spans, prompt_tokens } of turns) {
        const { features, candidates, width, chosen, logprob, entropy } = decision!;
        decisions += 1;
        expect(width).toBe(RANKER_WIDTH);
        expect(candidates).toBeLessThanOrEqual(MAX_CANDIDATES);
        expect(features.length).toBe(candidates * width * 4);
        for (let at = 0; at < features.length; at += 4) expect(Math.abs(features.readFloatLE(at))).toBeLessThanOrEqual(4);
        expect(chosen).toBeGreaterThanOrEqual(0);
        expect(chosen).toBeLessThan(candidates);
        expect(logprob).toBeLessThanOrEqual(0);
        expect(entropy).toBeGreaterThanOrEqual(0);
        expect(entropy).toBeLessThanOrEqual(Math.log(candidates) + 1e-6);
        expect(parseAction(text)).toBeDefined();
        expect(policy_spans[0]!.version).toBe(4);
        expect(prompt_tokens).toBeGreaterThan(0);
      }
    }
    expect(decisions).toBeGreaterThan(60);
  });
  it('makes the same choices for the same seed', async () => {
    const [one, other] = [await run(THREE, { seed: 3 }), await run(THREE, { seed: 3 })];
    expect(other.turns.map(({ text }) => text)).toEqual(one.turns.map(({ text }) => text));
    const texts = new Set<string>();
    for (let seed = 0; seed < 8; seed += 1) texts.add((await run(THREE, { seed })).turns.map(({ text }) => text).join());
    expect(texts.size).toBeGreaterThan(4);
    const greedy = new Set<string>();
    for (let seed = 0; seed < 3; seed += 1)
      greedy.add((await run(THREE, { seed, decoding: 'greedy' })).turns.map(({ text }) => text).join());
    expect(greedy.size).toBe(1);
  });
  it('pins the version before it scores', async () => {
    const asked: number[] = [];
    expect((await decide({}, 2, versionsOf(asked))).spans).toEqual([{ version: 2, tokens: expect.any(Number) as number }]);
    expect((await decide({}, -1, versionsOf(asked))).spans[0]!.version).toBe(4);
    expect(asked).toEqual([2, -1]);
  });
  it('never asks the same query or opens the same page twice', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const { turns } = await run(THREE, { seed });
      const calls = turns.filter(({ tool }) => tool !== 'answer').map((turn) => turn.arguments);
      expect(new Set(calls).size).toBe(calls.length);
    }
  });
  it('returns no action when nothing is left to try', async () => {
    const history: Observation['history'][number][] = [];
    let turn = await decide({});
    for (; turn.action !== undefined; turn = await decide({ turn: history.length, history })) {
      history.push({ action: turn.action, result: failed, text: turn.text });
      expect(history.length).toBeLessThan(20);
    }
    expect(turn).toMatchObject({ decision: undefined, finishReason: 'stop' });
  });
});
