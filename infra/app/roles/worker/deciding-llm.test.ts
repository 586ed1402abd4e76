import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { baseTools } from '../../../../streams/core/tools.ts';
import { loadConfig } from '../../../config/load.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { startLlmServer, type LlmServer } from '../../../testing/llm-server.ts';
import { silentLogger } from '../../../testing/logger.ts';
import { llmDeciding } from './deciding-llm.ts';
import type { RoleContext } from '../role.ts';

const KEY = 'sk-only-for-the-server';
let server: LlmServer;
beforeAll(async () => {
  server = await startLlmServer();
  server.setVersion(7);
});
afterAll(() => server.close());

const settings = (more: Readonly<Record<string, string>> = {}) => ({
  ...{ TURNSTREAM_POLICY: 'llm', TURNSTREAM_LLM_URL: server.url, TURNSTREAM_LLM_MODEL: 'm', TURNSTREAM_LLM_API_KEY: KEY },
  ...more,
});

async function decide(more: Readonly<Record<string, string>>) {
  const seen: Record<string, unknown>[] = [];
  server.setScript(({ body, api, headers, prompt }) => {
    seen.push({ ...body, api, prompt, authorization: headers.authorization });
    return { kind: 'says', text: '<search> Vienna </search>', naming: 'chunks' };
  });
  const context = { config: loadConfig(settings(more)), logger: silentLogger, metrics: createMetrics('worker') } as unknown as RoleContext;
  const deciding = llmDeciding({ context, run: 'run-a' }, baseTools);
  const { signal } = new AbortController();
  await deciding.start(signal);
  expect(deciding.newestVersion()).toBe(-1);
  const observation = { question: 'Where?', turn: 0, maxTurns: 8, history: [], askedAt: 0 };
  const turn = await deciding.policy.decide(observation, { decoding: 'sample', random: () => 0.5, version: -1, signal });
  expect(deciding.newestVersion()).toBe(7);
  expect(deciding.memory?.([])).toEqual([]);
  await deciding.close();
  return { turn, request: seen[0] ?? {} };
}

describe('a configured language model', () => {
  it('is asked with the transcript, or with the bounded history', async () => {
    const { turn, request } = await decide({
      TURNSTREAM_LLM_API: 'completions',
      TURNSTREAM_LLM_TEMPERATURE: '0.5',
      TURNSTREAM_LLM_MAX_TOKENS: '99',
    });
    expect(turn).toMatchObject({ action: { tool: 'search', query: 'Vienna' }, spans: [{ version: 7 }] });
    expect(request).toMatchObject({ api: 'completions', temperature: 0.5, max_tokens: 99, stream: true, authorization: `Bearer ${KEY}` });
    expect(request['prompt']).toMatch(/<think>\n$/);
    const bounded = await decide({
      TURNSTREAM_LLM_MEMORY: 'bounded',
      TURNSTREAM_LLM_STREAM: 'false',
      TURNSTREAM_LLM_EXTRA: '{"top_k": 5, "stop": null}',
    });
    expect(bounded.request).toMatchObject({ api: 'chat', top_k: 5 });
    expect(bounded.request).not.toHaveProperty('stop');
    expect(bounded.request['prompt']).toContain('too early');
  });
  it('needs a server and a name, and its other fields must be JSON', () => {
    const config = (more: Readonly<Record<string, string>>) => () => loadConfig(more);
    expect(config({ TURNSTREAM_POLICY: 'llm' })).toThrow(/needs TURNSTREAM_LLM_URL\n.*needs TURNSTREAM_LLM_MODEL/);
    expect(config(settings({ TURNSTREAM_LLM_EXTRA: '{a}' }))).toThrow('TURNSTREAM_LLM_EXTRA must be a JSON object');
    expect(config(settings({ TURNSTREAM_LLM_VERSION_FROM: 'a b' }))).toThrow('TURNSTREAM_LLM_VERSION_FROM');
    expect(config(settings())).not.toThrow();
  });
});
