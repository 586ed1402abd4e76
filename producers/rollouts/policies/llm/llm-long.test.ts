// Both memories in long trajectories: the real worker, the real tools and the real client against a scripted server.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TurnRecorded } from '../../../../schemas/generated/events.ts';
import { createServedModel } from '../../../../infra/llm/openai-model.ts';
import { researcher } from '../../../../infra/testing/llm-researcher.ts';
import { startLlmServer, type LlmServer, type LlmScript, type SeenRequest } from '../../../../infra/testing/llm-server.ts';
import { silentLogger } from '../../../../infra/testing/logger.ts';
import { MemoryLog } from '../../../../infra/testing/memory-log.ts';
import { requested } from '../../../../infra/testing/rollout-events.ts';
import { endOf, overMemory, request, rolloutsOf, testWorker } from '../../../../infra/testing/worker-harness.ts';
import { createBoundedMemory } from '../../agent/memory/bounded.ts';
import type { AgentMemory } from '../../agent/memory/memory.ts';
import { createTranscriptMemory } from '../../agent/memory/transcript.ts';
import { createFactbookTools } from '../../../factbook/tools.ts';
import { factbookProfiles } from '../../../factbook/profiles.ts';
import { createLlmPolicy } from './llm.ts';
import { noMetrics } from '../../../../streams/core/telemetry.ts';

const TURNS = 128;
/** UTC microseconds, one second before midnight. */
const ASKED_AT = Date.UTC(2026, 2, 9, 23, 59, 59) * 1_000;
const FAILING_TURN = 20;

let server: LlmServer;
let prompts: SeenRequest[];
beforeAll(async () => {
  server = await startLlmServer();
});
afterAll(() => server.close());

/** The longest pages, so that they have several pieces. */
const urls = (tools: ReturnType<typeof createFactbookTools>) =>
  Promise.all(
    factbookProfiles()
      .filter(({ title }) => ['China', 'India', 'Germany', 'France', 'Japan', 'Brazil'].includes(title))
      .map(async ({ url }) => ({ url, text: (await tools[1]!.call(url, new AbortController().signal)).text })),
  );

async function run(memory: AgentMemory, api: 'chat' | 'completions') {
  const tools = createFactbookTools();
  const pages = await urls(tools);
  prompts = [];
  const script = researcher({
    ...{ urls: pages.map(({ url }) => url), turns: TURNS - 1, thoughtChars: 5_200, opensEvery: 27 },
    queries: factbookProfiles().map(({ title }) => `capital of ${title} population exports`),
  });
  // the researcher does not count the request that fails
  let seen = 0;
  const once: LlmScript = (asked) => {
    prompts.push(asked);
    seen += 1;
    return seen === FAILING_TURN ? { kind: 'status', status: 500 } : script(asked);
  };
  server.setScript(once);
  const model = createServedModel(
    {
      ...{
        url: server.url,
        api,
        model: 'm',
        apiKey: '',
        temperature: 1,
        topP: 1,
        stream: true,
        logprobs: false,
        extra: {},
        versionFrom: [],
      },
      ...{ concurrency: 4, retries: 0, retryMs: [1, 2], timeoutMs: 60_000, idleMs: 60_000 },
    },
    { logger: silentLogger, metrics: noMetrics, random: () => 0.5 },
  );
  const log = new MemoryLog();
  await request(log.writer(), [
    requested(
      { trajectory: 'g.0' },
      {
        ...{ question: 'Which capital?', answers: ['Vienna'], occurred_at: ASKED_AT },
        ...{ max_turns: TURNS, max_tokens: 4_000_000, max_wall_ms: 600_000 },
      },
    ),
  ]);
  const tested = testWorker(overMemory(log), {
    policy: createLlmPolicy({ model, memory, maxTokensPerTurn: 4_096 }),
    tools,
    memory: memory.forget,
  });
  await tested.worker.start(new AbortController().signal);
  await expect.poll(() => tested.status()?.figures['trajectories_total'], { timeout: 200_000, interval: 50 }).toBe(1);
  await tested.worker.stop();
  model.close();
  const events = rolloutsOf(log).attempts.get('g.0/0') ?? [];
  const turns = events.flatMap(({ type, event }) => (type === 'TurnRecorded' ? [event] : []));
  return {
    turns,
    end: endOf(events)!,
    pages: new Map(pages.map(({ url, text }) => [url, text])),
    sequences: events.map(({ event }) => event.sequence),
  };
}

type Ran = Awaited<ReturnType<typeof run>>;

function sizes({ turns, end, sequences }: Ran): void {
  expect(end).toMatchObject({ status: 'answered', answer: 'Vienna', turns: TURNS, f1: 1 });
  expect(sequences).toEqual(Array.from({ length: TURNS + 2 }, (_, at) => at));
  expect(turns.map(({ turn }) => turn)).toEqual(Array.from({ length: TURNS }, (_, at) => at));
  expect(end.tool_calls).toBeGreaterThanOrEqual(100);
  expect(end.completion_tokens).toBeGreaterThanOrEqual(150_000);
  for (const { policy_spans: spans, completion_tokens: tokens } of turns) {
    expect(spans.reduce((sum, span) => sum + span.tokens, 0)).toBe(tokens);
    for (const { version } of spans) expect(version).toBe(-1);
  }
}

/** A tag that the model left open stays open, whatever the stop strings are. */
function mistakes({ turns }: Ran): void {
  expect([3, 5, 7, FAILING_TURN - 1].map((at) => [turns[at]?.status, turns[at]?.error_type])).toEqual([
    ['error', 'no_action'],
    ['error', 'unclosed_tag'],
    ['error', 'empty_argument'],
    ['error', 'model_http_500'],
  ]);
}

const urlOf = ({ arguments: given }: TurnRecorded): string => (JSON.parse(given) as { url: string }).url;

/** The turns after one that opened a page show its pieces and call nothing. */
function readsAll(turns: readonly TurnRecorded[], opened: TurnRecorded, pieces: readonly string[]): void {
  for (const [piece, text] of pieces.entries()) {
    const at = opened.turn + 1 + piece;
    expect([turns[at]?.tool, turns[at]?.status, turns[at]?.error_type]).toEqual(['', 'ok', '']);
    expect(prompts[at]?.prompt.includes(`>>>> Page ${piece + 1} >>>>\n\n${text}`)).toBe(true);
  }
  expect(turns[opened.turn + pieces.length + 1]?.tool).not.toBe('');
}

/** Every opened page is read piece by piece in the following turns, and its event contains all of it. */
function reading({ turns, pages }: Ran, pieceChars: number): readonly TurnRecorded[] {
  const all = turns.filter(({ tool }) => tool === 'access');
  const counts = all.map((opened) => {
    const page = pages.get(urlOf(opened)) ?? '';
    expect([opened.status, opened.result_chars]).toEqual(['ok', page.length]);
    const pieces = Array.from({ length: Math.min(10, Math.ceil(page.length / pieceChars)) }, (_, at) =>
      page.slice(at * pieceChars, (at + 1) * pieceChars),
    );
    readsAll(turns, opened, pieces);
    return pieces.length;
  });
  expect(counts.length).toBeGreaterThanOrEqual(3);
  expect(Math.max(...counts)).toBeGreaterThanOrEqual(2);
  return all;
}

/** Of a page that was read, only the first 100 characters and the thought remain. */
function shortPages({ pages }: Ran, opened: readonly TurnRecorded[], last: string): void {
  for (const turn of opened) {
    const page = pages.get(urlOf(turn)) ?? '';
    // the researcher counts one turn less, because an earlier request failed
    const kept = `>>>> Page 1 >>>>\n\n${page.slice(0, 100)}\n</information>\n\n<think>\nTurn ${turn.turn}.`;
    expect(last.includes(kept)).toBe(true);
    expect(last.includes(page.slice(0, 300))).toBe(false);
  }
}

/** Nothing that was written or found by searching is ever cut; a prompt starts with the previous one. */
function appendOnly({ turns }: Ran, last: string): void {
  for (const { text, tool, result } of turns.slice(0, -1)) {
    expect(last.includes(text)).toBe(true);
    if (tool === 'search') expect(last.includes(`<information>\n${result}\n</information>`)).toBe(true);
  }
  const calls = turns.slice(0, -1).filter(({ tool }) => tool !== '');
  for (const { turn } of calls) expect(prompts[turn + 1]?.prompt.startsWith(prompts[turn]?.prompt ?? 'none')).toBe(true);
}

/** Answers are allowed once twenty documents were found. */
function answersLate({ turns }: Ran): void {
  let documents = 0;
  for (const [at, { tool, items }] of turns.slice(0, -1).entries()) {
    const prompt = prompts[at]?.prompt ?? '';
    if (!prompt.includes('Make no call')) expect(prompt.includes('too early')).toBe(documents < 20);
    if (tool !== '') documents += tool === 'search' ? items.length : 1;
  }
}

describe('128 turns', { timeout: 240_000 }, () => {
  it('of the transcript', async () => {
    const ran = await run(createTranscriptMemory({ takes: 'text' }), 'completions');
    sizes(ran);
    mistakes(ran);
    const last = prompts.at(-1)?.prompt ?? '';
    shortPages(ran, reading(ran, 25_000), last);
    appendOnly(ran, last);
    expect(last.length).toBeGreaterThan(600_000);
    expect(ran.end.error).toBe('');
  });

  it.each(['chat', 'completions'] as const)('of the bounded history, by %s', async (api) => {
    const ran = await run(createBoundedMemory(), api);
    sizes(ran);
    mistakes(ran);
    reading(ran, 10_000);
    for (const { prompt } of prompts) {
      expect(prompt.length).toBeLessThan(25_000 + 10_000 + 1_500);
      expect(prompt).toContain("Today's date: 2026-03-09");
      expect(prompt).toContain('Question: Which capital?');
    }
    expect(ran.turns[1]).toMatchObject({ tool: '', status: 'refused', error_type: 'answer_too_early', arguments: '{}' });
    answersLate(ran);
    expect(prompts.at(-1)?.prompt).toContain('must answer it now');
    expect(prompts.slice(0, -1).some(({ prompt }) => prompt.includes('must answer it now'))).toBe(false);
  });
});
