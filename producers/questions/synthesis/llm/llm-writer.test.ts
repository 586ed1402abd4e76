// The writer against a scripted server: the requests are real, the replies are the test's.
import { describe, expect, it, vi } from 'vitest';
import type { SynthesisPrompt, SynthesisWords } from '../../../../infra/testing/llm-synthesizer.ts';
import type { Tool } from '../../../../streams/core/agents.ts';
import { failedGates, FUZZED, good, INJECTED, make, QUOTE, script, SEED, setUpLlmWriter, toolsOver } from './llm-writer.testing.ts';

setUpLlmWriter();

vi.setConfig({ testTimeout: 300_000 });

describe('a question that passes every check', () => {
  it('grows by a fact of a page and a blurred detail, through every gate', async () => {
    const asked = script();
    const made = await make();
    expect(made.rejected).toEqual([]);
    expect(made.accepted).toHaveLength(1);
    const [question] = made.accepted;
    expect(question).toMatchObject({
      ...{ question: FUZZED, answers: ['Danube'], aug_answers: ['Donau'], split: 'train', kind: 'llm', hops: 2, dataset: 'mine' },
      evidence: [{ url: 'https://a.test/vienna', title: 'Page https://a.test/vienna', fact: QUOTE }],
      history: [
        { round: 0, action: 'seed', before: '', after: SEED },
        { round: 1, action: 'inject', before: SEED, after: INJECTED },
        { round: 2, action: 'fuzz', before: INJECTED, after: FUZZED, detail: 'Austria became a landlocked republic' },
      ],
    });
    expect(question!.gates.map(({ gate, passed }) => [gate, passed])).toEqual(
      [
        ...['well_formed', 'timely', 'new_information', 'every_clause_needed', 'unique_answer', 'split_disjoint'],
        ...['difficulty', 'not_a_duplicate'],
      ].map((gate) => [gate, true]),
    );
    expect(made.report).toMatchObject({ writer: 'llm', accepted: 1, rejected: 0, injections: { mean: 1 }, fuzzes: { mean: 1 } });

    const writes = new Set<SynthesisPrompt | undefined>(['choose', 'entity', 'inject', 'fuzz']);
    for (const { kind, request } of asked) {
      expect(request.body['model']).toBe(writes.has(kind) ? 'writer' : 'checker');
      expect(request.headers.authorization).toBe(`Bearer ${writes.has(kind) ? 'writer-key' : 'checker-key'}`);
      const sampled = writes.has(kind) || kind === 'closedBook';
      expect(request.body['temperature'], kind).toBe(sampled ? 0.7 : 0);
    }
    const drawn = asked.filter(({ kind }) => kind === 'closedBook').map(({ request }) => request.body['seed']);
    expect(drawn).toHaveLength(3 * 4);
    expect(new Set(drawn).size).toBe(drawn.length);
    const first = asked.find(({ kind }) => kind === 'alternative')!.request.prompt;
    expect(first).toContain('Answer that was given: "Rhine"');
    expect(first).toContain('"Vienna: a city"');
  });

  it('makes the kind of round that the model chooses, and a random one where it chooses none', async () => {
    script({ choose: '{"action": "FUZZ"}', fuzz: JSON.stringify({ detail: 'Vienna', question: 'Which river flows through a capital?' }) });
    const { accepted: fuzzedFirst } = await make({ injectRounds: 3, fuzzRounds: 1 });
    expect(fuzzedFirst.flatMap(({ history }) => history.map(({ action }) => action)).slice(0, 2)).toEqual(['seed', 'fuzz']);
    script({ choose: 'both!' });
    expect((await make()).accepted[0]!.history.map(({ action }) => action)).toEqual(['seed', 'inject', 'fuzz']);
  });

  it('counts an answer in other words as right when the judge says so', async () => {
    const asked = script({
      closedBook: ({ index }) => `{"answer": "${index % 2 === 0 ? 'the Danube river' : 'donau'}"}`,
      judge: '{"rationale": "the same", "judgement": "correct"}',
    });
    const { rejected: easy } = await make();
    expect(easy.map(({ reason }) => reason)).toEqual(['difficulty']);
    expect(easy[0]!.gates.at(-1)!.detail).toBe('4 of 4 answers without tools are right; 2 may be');
    expect(asked.filter(({ kind }) => kind === 'alternative')).toEqual([]);
    expect((await make({ maxDirectShare: 1 })).accepted).toHaveLength(1);
  });
});

describe('each gate refuses', () => {
  const inject = (question: string, quote = QUOTE) => JSON.stringify({ quote, fact: 'f', question });
  it.each<[string, string, RegExp, Partial<SynthesisWords>]>([
    ['a seed that is not a good question', 'well_formed', /two questions/, { wellFormed: '{"reason": "two questions", "good": "no"}' }],
    ['a seed that will be out of date', 'timely', /rivers move/, { timely: '{"reason": "rivers move", "keeps": "no"}' }],
    [
      'a question that contains the answer',
      'well_formed',
      /the answer is in/,
      { inject: inject('Which river, the Donau, is in the capital of Austria?') },
    ],
    [
      'a question that still contains the name',
      'well_formed',
      /Vienna is still named/,
      { inject: inject('Which river is in Vienna, capital of Austria?') },
    ],
    ['a question that is too long', 'well_formed', /too many/, { inject: inject(`Which ${'long '.repeat(500)} river?`) }],
    ['a quote that no page has', 'well_formed', /does not say "Vienna is in Peru/, { inject: inject(INJECTED, 'Vienna is in Peru.') }],
    ['an entity that is not in the question', 'well_formed', /Graz is to be replaced/, { entity: '{"entity": "Graz", "query": "Graz"}' }],
    ['a fact that the question already states', 'new_information', /same thing/, { covered: '{"reason": "same thing", "told": "yes"}' }],
    [
      'a fact that can be left out',
      'every_clause_needed',
      /the river is enough/,
      { needed: '{"reason": "the river is enough", "needed": "no"}' },
    ],
    [
      'a second right answer',
      'unique_answer',
      /Rhine may be right as well: both do/,
      { alternative: '{"reason": "both do", "valid": "yes"}' },
    ],
    ['answers that cannot be judged', 'difficulty', /4 of 4 answers: "Rhine" could not be judged/, { judge: 'hm' }],
  ])('%s', async (...[, gate, detail, words]) => {
    script(words);
    const made = await make({ fuzzRounds: 0 });
    expect(made.accepted).toEqual([]);
    const refusals = made.rejected.flatMap(failedGates);
    expect(refusals.map((one) => one.gate)).toContain(gate);
    expect(refusals.find((one) => one.gate === gate)!.detail).toMatch(detail);
    expect(made.report.gates.find((one) => one.gate === gate)!.refused).toBeGreaterThan(0);
  });

  it('the same words in another order', async () => {
    script({ fuzz: JSON.stringify({ detail: 'none', question: 'Through the capital of Austria, which river flows?' }) });
    const made = await make();
    expect(made.accepted.map(({ question }) => question)).toEqual([INJECTED]);
    expect(made.rejected.flatMap(failedGates)).toMatchObject([{ gate: 'new_information', detail: 'the words are the same' }]);
  });

  it('a question that was made before', async () => {
    script();
    const made = await make({ variants: 3 });
    expect(made.accepted).toHaveLength(1);
    expect(made.rejected.map(({ reason }) => reason)).toEqual(['not_a_duplicate', 'not_a_duplicate']);
  });

  it('a second fact from the same sentence', async () => {
    const again = JSON.stringify({ quote: 'capital of Austria', fact: 'f', question: 'Which river flows through a capital of a state?' });
    script({
      entity: ({ prompt }) => (prompt.includes(INJECTED) ? '{"entity": "Austria", "query": "Austria"}' : good.entity),
      inject: ({ prompt }) => (prompt.includes(INJECTED) ? again : good.inject),
    });
    const made = await make({ injectRounds: 2, fuzzRounds: 0 });
    expect(made.accepted.map(({ question }) => question)).toEqual([INJECTED]);
    expect(made.rejected.flatMap(failedGates)).toMatchObject([{ gate: 'new_information', detail: 'it is in it already, about Vienna' }]);
  });

  it.each<[string, readonly Tool[], RegExp]>([
    ['no tool', [], /the search for "Vienna city" failed: no_tool/],
    ['no result', toolsOver({}), /found no page that can be read$/],
    ['pages that are gone', toolsOver({ 'https://a.test/gone': '' }), /found no page that can be read; https:\/\/a\.test\/gone: http_404/],
  ])('an injection with %s', async (_, given, detail) => {
    script();
    const made = await make({ fuzzRounds: 0 }, { tools: given });
    expect(made.rejected.flatMap(failedGates).map((one) => one.detail)[0]).toMatch(detail);
  });
});
