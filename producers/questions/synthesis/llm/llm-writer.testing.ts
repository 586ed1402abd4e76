// Shared by the tests of the writer with a model: a scripted server, tools over a few pages, and a synthesis over both.
import { afterAll, beforeAll } from 'vitest';
import { createServedModel } from '../../../../infra/llm/openai-model.ts';
import { startLlmServer, type LlmServer, type SeenRequest } from '../../../../infra/testing/llm-server.ts';
import { synthesisPromptOf, synthesizer, type SynthesisPrompt, type SynthesisWords } from '../../../../infra/testing/llm-synthesizer.ts';
import { silentLogger } from '../../../../infra/testing/logger.ts';
import type { QuestionAccepted, QuestionRejected } from '../../../../schemas/generated/events.ts';
import type { Tool, ToolResult } from '../../../../streams/core/agents.ts';
import type { SynthesisReport } from '../report.ts';
import { synthesize, type SynthesisOptions } from '../synthesize.ts';
import { createLlmWriter, type SeedQuestion } from './llm-writer.ts';

export const SEED = 'Which river flows through Vienna?';

export const INJECTED = 'Which river flows through the capital of Austria?';

export const FUZZED = 'Which river flows through the capital of a landlocked republic?';

export const QUOTE = 'Vienna is the capital of Austria.';

export const good = {
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
} satisfies SynthesisWords;

const result = (more: Partial<ToolResult>): ToolResult => ({
  ...{ status: 'ok', errorType: '', text: '', items: [], cacheHit: false },
  ...more,
});

export const toolsOver = (pages: Readonly<Record<string, string>>): readonly Tool[] => [
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

/** Call it at the top level of a test file. */
export function setUpLlmWriter(): void {
  beforeAll(async () => {
    server = await startLlmServer();
  });
  afterAll(() => server.close());
}

interface SeenPrompt {
  readonly kind: SynthesisPrompt | undefined;
  readonly request: SeenRequest;
}

/** Makes the server reply with these words, and records its requests. */
export function script(words: Partial<SynthesisWords> = {}): readonly SeenPrompt[] {
  const asked: SeenPrompt[] = [];
  const answer = synthesizer({ ...good, ...words });
  server.setScript((request) => {
    asked.push({ kind: synthesisPromptOf(request), request });
    return answer(request);
  });
  return asked;
}

interface LlmSynthesis {
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

export const accepted: QuestionAccepted[] = [];

const rejected: QuestionRejected[] = [];

export async function make(
  more: Partial<SynthesisOptions> = {},
  given: { seeds?: readonly SeedQuestion[]; tools?: readonly Tool[] } = {},
): Promise<LlmSynthesis> {
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

export const failedGates = ({ gates }: QuestionRejected) => gates.filter(({ passed }) => !passed);
