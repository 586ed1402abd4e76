import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Observation, PolicyTurn, ToolResult } from '../../../../streams/core/agents.ts';
import { createRandom } from '../../../../streams/core/random.ts';
import { parseAction } from '../../../../streams/reward/format.ts';
import { runAgent } from '../../agent/run-agent.ts';
import type { TurnOutcome } from '../../agent/turn-outcome.ts';
import { createFactbookTools } from '../../tools/factbook.ts';
import { MAX_CANDIDATES } from './candidates.ts';
import { choose } from './choose.ts';
import { featureNames, RANKER_WIDTH } from './features.ts';
import { foundBy, pageOf } from './page.ts';
import { readQuestion } from './question.ts';
import { createRankerPolicy } from './ranker.ts';
import type { PolicyVersions } from './ranker.ts';
import { spansOf } from './spans.ts';
import { createViews } from './view.ts';
import { clockOf } from '../../../../infra/testing/clock.ts';

const tools = createFactbookTools();
const signal = new AbortController().signal;
const failed: ToolResult = { status: 'error', errorType: 'down', text: 'down', items: [], cacheHit: false };
const TWO = 'What is the highest point of the country whose capital is Vienna?';
const THREE =
  'What is the capital of the country that has the shortest land border with the country whose national anthem is "La Marseillaise"?';

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
  it('knows nothing of the gold answers: with others it sees and does the same', async () => {
    for (const question of [TWO, THREE]) {
      for (let seed = 0; seed < 10; seed += 1) {
        const one = await run(question, { answers: ['Grossglockner'], seed });
        const other = await run(question, { answers: ['something else entirely'], seed });
        expect(other.turns.map((turn) => ({ ...turn, cache_hit: true }))).toEqual(one.turns.map((turn) => ({ ...turn, cache_hit: true })));
      }
    }
  });
  it('gives finite features of the fixed width, a bounded number of candidates, and the probability of what it chose', async () => {
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
  it('does the same for the same seed', async () => {
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
  it('says so when nothing is left to try', async () => {
    const history: Observation['history'][number][] = [];
    let turn = await decide({});
    for (; turn.action !== undefined; turn = await decide({ turn: history.length, history })) {
      history.push({ action: turn.action, result: failed, text: turn.text });
      expect(history.length).toBeLessThan(20);
    }
    expect(turn).toMatchObject({ decision: undefined, finishReason: 'stop' });
  });
});

describe('reading', () => {
  it('takes a question apart', () => {
    const two = readQuestion(TWO);
    expect(two).toMatchObject({ pages: 1, places: [{ told: [{ spans: ['Vienna'] }], lead: undefined }], asksForDate: false });
    expect(two.last.text).toBe('capital is Vienna');
    const three = readQuestion(THREE);
    expect(three).toMatchObject({
      pages: 2,
      places: [
        { told: [], lead: { text: 'has the shortest land border with the country' } },
        { told: [{ spans: ['La Marseillaise'] }], lead: undefined },
      ],
    });
    expect(readQuestion('Who leads the place whose currency is forints?')).toMatchObject({
      places: [{ told: [{ spans: ['forints'] }] }],
      asksForPerson: true,
    });
    expect(readQuestion('On which date is the holiday of the country whose capital is Rome?')).toMatchObject({
      pages: 1,
      asksForDate: true,
    });
    expect(readQuestion('When did it end?')).toMatchObject({ pages: 1, asksForDate: true });
  });
  it('keeps what is said of a place together, and takes bounds and initials for what they are', () => {
    const { places, last } = readQuestion(
      'On which date is the national holiday of the country whose highest point has a name beginning with T and that has the longest land border with the country whose median age is between 30 and 34 years, whose total area is 1,389 sq km and whose capital is Vienna?',
    );
    expect(places).toMatchObject([
      {
        told: [{ text: 'highest point has a name beginning with T', vague: { initial: 'T' }, labelWords: new Set(['highest', 'point']) }],
        lead: { text: 'has the longest land border with the country' },
      },
      {
        told: [
          { vague: { low: 30, high: 34 }, labelWords: new Set(['median', 'age']) },
          { text: 'total area is 1,389 sq km', vague: undefined, spans: ['1,389'] },
          { text: 'capital is Vienna', vague: undefined },
        ],
        lead: undefined,
      },
    ]);
    expect(last.text).toBe('median age is between 30 and 34 years total area is 1,389 sq km capital is Vienna');
  });
  it('knows a page by what is told exactly, and weighs what is vague less', () => {
    const page = (median: string, area: string) =>
      pageOf({
        ...failed,
        status: 'ok',
        text: `# X\n\n- **Median age:** ${median}\n- **Area, total:** ${area}\n- **Capital, name:** Vienna`,
      });
    const fitOf = (...lines: Parameters<typeof page>): number =>
      createViews(
        readQuestion('What is the anthem of the country whose median age is between 30 and 34 years and whose total area is 1,389 sq km?'),
      ).page(page(...lines)).fits[0]!;
    expect(fitOf('33.1 years (2015 est.)', '1,389 sq km')).toBe(1);
    expect(fitOf('35 years', '1,389 sq km')).toBeCloseTo(1 / 1.3);
    expect(fitOf('31 years', '777 sq km')).toBeLessThan(0.5);
  });
  it('reads labels, links and numbers off a page', async () => {
    const page = pageOf(await tools[1]!.call('factbook://europe/austria', signal));
    expect(page).toMatchObject({ url: 'factbook://europe/austria', title: 'Austria' });
    const borders = page.lines.find(({ label }) => label === 'Land boundaries, border countries')!;
    expect(borders.links).toContainEqual({ name: 'Germany', url: 'factbook://europe/germany', number: 801 });
    expect(borders.text).toContain('Germany 801 km');
    expect(createViews(readQuestion(TWO)).page(page).fits).toEqual([1]);
    expect(createViews(readQuestion(THREE)).page(page).fits[1]).toBeLessThan(1);
  });
  it('cuts spans in the ways it knows', () => {
    const cut = (text: string): Record<string, string[]> =>
      Object.fromEntries(spansOf(text).map(({ text: span, cuts }) => [span, [...cuts]]));
    expect(cut('Grossglockner 3,798 m')).toMatchObject({ Grossglockner: ['unmeasured'], 'Grossglockner 3,798 m': ['whole', 'fragment'] });
    expect(cut('"Nokoreach" (Royal Kingdom)')).toMatchObject({ Nokoreach: ['quoted'] });
    expect(cut('National Day, 26 October (1955)')).toMatchObject({ '26 October': ['date'], 'National Day': ['fragment'] });
    expect(cut('laris (GEL) per US dollar -')).toMatchObject({ laris: ['before_parenthesis'] });
    expect(cut('A B/C D')).toMatchObject({ 'A B': ['slash_first'], 'C D': ['slash_second'] });
    expect(cut('')).toEqual({});
  });
  it('never throws, whatever a tool or a user writes', () => {
    const part = fc.constantFrom(
      '- **',
      ':** ',
      '**',
      '[a](',
      ') 7 km',
      '\n',
      '\n\n',
      '#',
      '"',
      '(',
      '/',
      '1 May 2000',
      'Ä',
      ' ',
      'whose ',
      '[Doc 1](',
      '\ud800',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(part).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, text, (content, asked) => {
        const question = readQuestion(asked);
        const result: ToolResult = { status: 'ok', errorType: '', text: content, items: [{ url: 'u', title: 't' }], cacheHit: false };
        const views = createViews(question);
        for (const { row } of views.page(pageOf(result)).answers) for (const value of row) expect(Number.isFinite(value)).toBe(true);
        expect(views.results(foundBy(result))).toHaveLength(1);
        expect(pageOf({ ...result, items: [] }).url).toBe('');
      }),
    );
  });
  it('has a name for every column', () => {
    expect(new Set(featureNames).size).toBe(RANKER_WIDTH);
  });
});

describe('choosing', () => {
  it('draws by the softmax, with probabilities that add up', () => {
    fc.assert(
      fc.property(
        fc.array(fc.float({ min: -50, max: 50, noNaN: true }), { minLength: 1, maxLength: 20 }),
        fc.double({ min: 0, max: 0.9999, noNaN: true }),
        (logits, chance) => {
          const { chosen, logprob, entropy } = choose(logits, chance);
          expect(chosen).toBeGreaterThanOrEqual(0);
          expect(chosen).toBeLessThan(logits.length);
          const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
          expect(logprob).toBeCloseTo(logits[chosen]! - Math.log(total), 3);
          expect(entropy).toBeGreaterThanOrEqual(-1e-9);
          expect(choose(logits, undefined).chosen).toBe(logits.indexOf(Math.max(...logits)));
        },
      ),
    );
  });
  it('follows the probabilities', () => {
    const random = createRandom(9);
    const counts = [0, 0];
    for (let draw = 0; draw < 4_000; draw += 1) counts[choose([0, Math.log(3)], random()).chosen]! += 1;
    expect(counts[1]! / 4_000).toBeCloseTo(0.75, 1);
    expect(choose([], 0.5)).toEqual({ chosen: -1, logprob: 0, entropy: 0 });
  });
});
