// The writer against a scripted server: the requests are real, the replies are the test's.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createServedModel } from '../../../../infra/llm/openai-model.ts';
import { startLlmServer, type LlmServer, type SeenRequest } from '../../../../infra/testing/llm-server.ts';
import {
  synthesisPromptOf,
  synthesisPrompts,
  synthesizer,
  type SynthesisPrompt,
  type SynthesisWords,
} from '../../../../infra/testing/llm-synthesizer.ts';
import { silentLogger } from '../../../../infra/testing/logger.ts';
import type { QuestionAccepted, QuestionRejected } from '../../../../schemas/generated/events.ts';
import type { Tool, ToolResult } from '../../../../streams/core/agents.ts';
import type { SynthesisReport } from '../report.ts';
import { synthesize, type SynthesisOptions } from '../synthesize.ts';
import { createLlmWriter, type SeedQuestion } from './llm-writer.ts';
import { fieldsOf, isYes } from './reply.ts';

vi.setConfig({ testTimeout: 300_000 });

const SEED = 'Which river flows through Vienna?';
const INJECTED = 'Which river flows through the capital of Austria?';
const FUZZED = 'Which river flows through the capital of a landlocked republic?';
const QUOTE = 'Vienna is the capital of Austria.';

type Kind = SynthesisPrompt;
type Words = SynthesisWords;

const good = {
  choose: '{"action": "inject"}',
  entity: '{"entity": "Vienna", "query": "Vienna city"}',
  inject: JSON.stringify({ quote: QUOTE, fact: 'it is the capital of Austria', question: INJECTED }),
  fuzz: JSON.stringify({ detail: 'Austria became a landlocked republic', question: FUZZED }),
  wellFormed: '{"reason": "it is fine", "good": "yes"}',
  timely: '{"reason": "rivers stay", "keeps": "yes"}',
  covered: '{"reason": "it is new", "told": "no"}',
  needed: '{"reason": "each says something else", "needed": "yes"}',
  closedBook: 'It may be this. {"answer": "Rhine"}',
  alternative: '{"reason": "the Rhine flows elsewhere", "valid": "no"}',
  judge: '{"rationale": "another river", "judgement": "incorrect"}',
} satisfies Words;

const result = (more: Partial<ToolResult>): ToolResult => ({
  ...{ status: 'ok', errorType: '', text: '', items: [], cacheHit: false },
  ...more,
});
const toolsOver = (pages: Readonly<Record<string, string>>): readonly Tool[] => [
  {
    name: 'search',
    call: async () => result({ text: 'Vienna: a city', items: Object.keys(pages).map((url) => ({ url, title: `Page ${url}` })) }),
  },
  {
    name: 'access',
    call: async (url) => (pages[url] === '' ? result({ status: 'error', errorType: 'http_404' }) : result({ text: pages[url] ?? '' })),
  },
];
const tools = toolsOver({
  'https://a.test/gone': '',
  'https://a.test/vienna': `# Vienna\n\n*Vienna*  is the capital\nof Austria. It is old.`,
});

let server: LlmServer;
beforeAll(async () => {
  server = await startLlmServer();
});
afterAll(() => server.close());

interface Asked {
  readonly kind: Kind | undefined;
  readonly request: SeenRequest;
}

/** Makes the server reply with these words, and records its requests. */
function script(words: Partial<Words> = {}): readonly Asked[] {
  const asked: Asked[] = [];
  const answer = synthesizer({ ...good, ...words });
  server.setScript((request) => {
    asked.push({ kind: synthesisPromptOf(request), request });
    return answer(request);
  });
  return asked;
}

interface Made {
  readonly report: SynthesisReport;
  readonly accepted: readonly QuestionAccepted[];
  readonly rejected: readonly QuestionRejected[];
}

const seeds: readonly SeedQuestion[] = [{ question: SEED, answers: ['Danube'], augAnswers: ['Donau'], split: 'train' }];

function modelOf(name: string, apiKey: string) {
  const model = createServedModel(
    {
      ...{ url: server.url, api: 'chat', model: name, apiKey, temperature: 0.7, topP: 1, stream: false, logprobs: false, extra: {} },
      ...{ versionFrom: [], concurrency: 8, retries: 1, retryMs: [1, 2], timeoutMs: 10_000, idleMs: 10_000 },
    },
    {
      ...{ logger: silentLogger, random: () => 0.5 },
      metrics: { count: () => undefined, set: () => undefined, observe: () => undefined },
    },
  );
  return { name, model, maxTokens: 5_000 };
}

const accepted: QuestionAccepted[] = [];
const rejected: QuestionRejected[] = [];
async function make(
  more: Partial<SynthesisOptions> = {},
  given: { seeds?: readonly SeedQuestion[]; tools?: readonly Tool[] } = {},
): Promise<Made> {
  accepted.length = 0;
  rejected.length = 0;
  const writer = createLlmWriter({
    ...{ generation: modelOf('writer', 'writer-key'), checking: modelOf('checker', 'checker-key'), seeds, tools, now: () => 0 },
    ...given,
  });
  const report = await synthesize(writer, {
    ...{ injectRounds: 1, fuzzRounds: 1, tries: 1, directSamples: 4, maxDirectShare: 0.5, variants: 1, concurrency: 1, confirmSamples: 0 },
    ...{ dataset: 'mine', seed: 7, count: 24, reviewShare: 0, occurredAt: 5, producer: 'test', now: () => 0 },
    signal: new AbortController().signal,
    async take(made) {
      accepted.push(...made.accepted);
      rejected.push(...made.rejected);
    },
    ...more,
  });
  return { report, accepted: [...accepted], rejected: [...rejected] };
}

const failedGates = ({ gates }: QuestionRejected) => gates.filter(({ passed }) => !passed);

describe('a question that everybody agrees to', () => {
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

    const writes = new Set<Kind | undefined>(['choose', 'entity', 'inject', 'fuzz']);
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

  it('takes the round that the model chooses, and chance where it chooses none', async () => {
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
  it.each<[string, string, RegExp, Partial<Words>]>([
    ['a seed that is no good question', 'well_formed', /two questions/, { wellFormed: '{"reason": "two questions", "good": "no"}' }],
    ['a seed that will be out of date', 'timely', /rivers move/, { timely: '{"reason": "rivers move", "keeps": "no"}' }],
    [
      'what tells the answer',
      'well_formed',
      /the answer is in/,
      { inject: inject('Which river, the Donau, is in the capital of Austria?') },
    ],
    [
      'what still has the name',
      'well_formed',
      /Vienna is still named/,
      { inject: inject('Which river is in Vienna, capital of Austria?') },
    ],
    ['what is too long', 'well_formed', /too many/, { inject: inject(`Which ${'long '.repeat(500)} river?`) }],
    ['a quote that no page has', 'well_formed', /does not say "Vienna is in Peru/, { inject: inject(INJECTED, 'Vienna is in Peru.') }],
    ['an entity from nowhere', 'well_formed', /Graz is to be replaced/, { entity: '{"entity": "Graz", "query": "Graz"}' }],
    ['a fact that is told already', 'new_information', /same thing/, { covered: '{"reason": "same thing", "told": "yes"}' }],
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
    ['what nobody can judge', 'difficulty', /4 of 4 answers: "Rhine" could not be judged/, { judge: 'hm' }],
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

  it('a fact of the same sentence', async () => {
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

describe('replies that nobody can use', () => {
  const garbage = ['', 'null', '}{', '{"action": 7, "good": {}}', '```json\n{broken```', '\u0000\ud83d', '{'.repeat(3_000)];
  it.each(synthesisPrompts)('%s: rejected with a reason, never an exception', async (kind) => {
    const closedBook = kind === 'closedBook' ? {} : { closedBook: good.closedBook };
    for (const text of garbage) {
      script({ [kind]: text, ...closedBook });
      const made = await make({ injectRounds: 1, fuzzRounds: 1 });
      // a check that may stay undecided does not reject
      const open = kind === 'choose' || kind === 'closedBook';
      expect(made.rejected.length > 0, `${kind} ${text.slice(0, 20)}`).toBe(!open);
      for (const candidate of made.rejected) {
        expect(candidate.reason).not.toBe('');
        expect(failedGates(candidate)[0]!.detail).not.toBe('');
      }
    }
  });

  it('a verdict that is neither yes nor no is none', async () => {
    script({ wellFormed: '{"reason": "hm", "good": "perhaps"}' });
    expect((await make()).rejected.flatMap(failedGates)).toMatchObject([
      { gate: 'well_formed', detail: expect.stringContaining('neither yes nor no') as string },
    ]);
  });

  it('a prompt that the server does not take is a rejection too', async () => {
    script({ inject: () => ({ kind: 'status', status: 400, body: '{"error": {"message": "the input is too long"}}' }) });
    const made = await make({ fuzzRounds: 0 });
    expect(made.rejected.flatMap(failedGates)[0]!.detail).toContain('the input is too long');
  });

  it('finds the last object with all fields in anything, and never throws', () => {
    expect(fieldsOf('{"a": "1", "b": 2} then {"a": "x", "b": true} }', ['a', 'b'])).toEqual({ a: 'x', b: 'true' });
    expect(fieldsOf('{"a": "1"} and {"b": "2"}', ['a', 'b'])).toBeUndefined();
    expect(fieldsOf('{"outer": {"a": "in"}}', ['a'])).toEqual({ a: 'in' });
    const names = fc.constantFrom('a', 'b', 'reason');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.dictionary(names, fc.string()), fc.string(), (before, object, after) => {
        const found = fieldsOf(`${before}${JSON.stringify(object)}${after}`, ['a', 'b']);
        if (found !== undefined) expect(Object.values(found).every((text) => text.trim() !== '')).toBe(true);
      }),
    );
    fc.assert(
      fc.property(
        fc.record({ a: fc.string({ minLength: 1 }), b: fc.string({ minLength: 1 }) }),
        fc.stringMatching(/^[^{}]*$/),
        (object, noise) => {
          fc.pre(object.a.trim() !== '' && object.b.trim() !== '');
          expect(fieldsOf(`${noise}${JSON.stringify(object)}${noise}`, ['a', 'b'])).toEqual({ a: object.a.trim(), b: object.b.trim() });
        },
      ),
    );
    expect(['yes', 'Yes, it is', 'TRUE', 'no.', 'maybe', ''].map(isYes)).toEqual([true, true, true, false, undefined, undefined]);
  });
});

describe('an endpoint that dies', () => {
  const many: readonly SeedQuestion[] = ['Vienna', 'Bratislava', 'Budapest', 'Belgrade'].map((city) => ({
    ...{ question: `Which river flows through ${city}?`, answers: ['Danube'], augAnswers: [], split: 'heldout' as const },
  }));
  const cityIn = (prompt: string): string => /flows through (\w+)\?/.exec(prompt)?.[1] ?? '';
  const words: Partial<Words> = {
    entity: ({ prompt }) => JSON.stringify({ entity: cityIn(prompt), query: 'city' }),
    inject: ({ prompt }) =>
      JSON.stringify({
        quote: 'It is old.',
        fact: 'it is old',
        question: `Which river flows through the old town number ${cityIn(prompt).length}${cityIn(prompt).charCodeAt(0)}?`,
      }),
  };

  it.each([1, 3])('is told, and what was accepted before is kept (%i walks at once)', async (concurrency) => {
    let injections = 0;
    script({
      ...words,
      inject: (request) => {
        injections += 1;
        if (injections > 2) return { kind: 'hangs_up' };
        return (words.inject as (one: SeenRequest) => string)(request);
      },
    });
    const failed = make({ fuzzRounds: 0, concurrency }, { seeds: many });
    await expect(failed).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message: expect.stringMatching(
        /^making questions with writer: asking writer at .*\(2 tries\); what was made before is kept: 2 accepted, 0 rejected$/,
      ) as string,
    });
    expect(accepted).toHaveLength(2);
    expect(accepted.every(({ split }) => split === 'heldout')).toBe(true);
  });

  it('that refuses the key is told as such, without the key', async () => {
    script({ closedBook: () => ({ kind: 'status', status: 401, body: '{"error": {"message": "bad key checker-key"}}' }) });
    const error: unknown = await make().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'MODEL_REFUSED' });
    expect(String(error)).not.toContain('checker-key');
  });

  it('that is away for a moment is asked again', async () => {
    let refused = 0;
    script({ fuzz: () => (refused++ === 0 ? { kind: 'status', status: 503 } : good.fuzz) });
    expect((await make()).accepted).toHaveLength(1);
    expect(refused).toBe(2);
  });

  it('ends in order when it is stopped, with what had passed', async () => {
    const controller = new AbortController();
    script({
      fuzz: () => {
        controller.abort();
        return { kind: 'hangs' };
      },
    });
    const made = await make({ signal: controller.signal });
    expect(made.accepted.map(({ question }) => question)).toEqual([INJECTED]);
  });
});
