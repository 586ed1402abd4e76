// What identifies a recorded evaluation.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../../config/descriptors.ts';
import { loadConfig } from '../../../config/load.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { codecReader } from '../../../testing/codec-reader.ts';
import { randomEvent, seeded } from '../../../testing/events.ts';
import { startLlmServer, type LlmServer } from '../../../testing/llm-server.ts';
import { silentLogger } from '../../../testing/logger.ts';
import { MemoryLog } from '../../../testing/memory-log.ts';
import { recordOfWorkers } from '../worker-identity.ts';
import type { LogConnection } from '../../open/connections.ts';
import { answeringOf } from './evaluation-identity.ts';

const dir = mkdtempSync(join(tmpdir(), 'turnstream-identity-'));
let server: LlmServer;
beforeAll(async () => (server = await startLlmServer()));
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

/** An evaluation with its own worker does not use the log. */
async function subject(settings: Partial<Config>, more: { judged?: boolean; weights?: string } = {}): Promise<string> {
  const context = { config: loadConfig({}, settings), logger: silentLogger, metrics: createMetrics('test'), supervised: false };
  const { judged = false, weights } = more;
  const options = { context, log: undefined as never, run: 'r', byWorkersOfRun: false, weightsSha256: weights, judged };
  return JSON.stringify((await answeringOf(options, new AbortController().signal)).answering);
}

it('changes with everything that affects the answers, and contains no secret', async () => {
  server.setScript(() => ({ kind: 'says', text: 'yes', naming: 'chunks' }));
  const llm = { policy: 'llm', llmUrl: server.url, llmModel: 'm', llmApiKey: 'hidden' } as const;
  const web = { tools: 'web', serperApiKey: 'hidden', serperUrl: `${server.url}/search` } as const;
  const module = { policy: 'module', policyModule: file('agent.mjs', 'export default 1;') } as const;
  const subjects = [
    await subject({}),
    await subject({}, { weights: 'aa' }),
    await subject({}, { weights: 'bb' }),
    await subject(web),
    await subject({ ...web, serperUrl: `${server.url}/other` }),
    await subject({ ...web, webReader: 'jina', jinaUrl: server.url }),
    await subject({ tools: 'local', retrievalUrl: server.url }),
    await subject({ tools: 'local', retrievalUrl: `${server.url}/b` }),
    await subject({ tools: 'module', toolsModule: file('tools.mjs', '') }),
    await subject(module),
    await subject(llm),
    await subject({ ...llm, llmTemperature: 0.5 }),
    await subject(llm, { judged: true }).catch(() => 'a judge that is not configured'),
    await subject({ ...llm, judgeUrl: server.url, judgeModel: 'j' }, { judged: true }),
  ];
  file('agent.mjs', 'export default 2;');
  subjects.push(await subject(module));
  server.setVersion(8);
  subjects.push(await subject(llm));
  server.setModels([{ id: 'm', root: '/weights/2' }]);
  subjects.push(await subject(llm));
  expect(new Set(subjects).size).toBe(subjects.length);
  for (const text of subjects) expect(text).not.toContain('hidden');
  expect(await subject(llm)).toBe(subjects.at(-1));
  expect(await subject({ ...llm, llmConcurrency: 3 })).toBe(subjects.at(-1));
});

it('cannot be determined when a server of the tools does not answer', async () => {
  const dead = await startLlmServer();
  await dead.close();
  for (const [settings, name] of [
    [{ tools: 'local', retrievalUrl: dead.url }, 'retrieval'],
    [{ tools: 'web', serperApiKey: 'hidden', serperUrl: dead.url }, 'search'],
    [{ tools: 'web', serperApiKey: 'hidden', serperUrl: server.url, webReader: 'jina', jinaUrl: dead.url }, 'reader'],
  ] as const) {
    await expect(subject(settings)).rejects.toMatchObject({
      code: 'TOOLS_UNAVAILABLE',
      message: expect.stringContaining(`contacting the ${name} server: `) as string,
    });
  }
});

it('changes with the settings of the workers, including those of a recipe', async () => {
  const subjects = [await subject({}), await subject({ answersToEnd: 3 }), await subject({ recipe: 'compact' })];
  expect(new Set(subjects).size).toBe(3);
});

describe('the identity of an evaluation on the workers of a run', () => {
  /** A log in which a run was started with these settings. */
  async function startedWith(settings: Partial<Config>, change: (workers: Record<string, unknown>) => void = () => undefined) {
    const log = new MemoryLog();
    const workers: Record<string, unknown> = { ...(await recordOfWorkers(loadConfig({}, settings))) };
    change(workers);
    const event = randomEvent('RunStarted', seeded(1), { run_id: 'r', settings: JSON.stringify({ workers }) });
    await log.writer().append([{ type: 'RunStarted', key: 'r', event }]);
    const runs = { startOf: async () => ({ training: 0, policies: 0 }) };
    return { kafka: { runs, reader: () => log.reader() }, events: codecReader(log.codec) } as unknown as LogConnection;
  }

  const asked = (log: LogConnection, settings: Partial<Config>, supervised = false) => {
    const context = { config: loadConfig({}, settings), logger: silentLogger, metrics: createMetrics('test'), supervised };
    const options = { context, log, run: 'r', byWorkersOfRun: true, weightsSha256: undefined, judged: false };
    return answeringOf(options, new AbortController().signal);
  };

  it('has the code that the run recorded, whatever the module of this process is by now', async () => {
    const module = { policy: 'module', policyModule: file('of-run.mjs', 'export default 1;') } as const;
    const log = await startedWith(module);
    const before = await asked(log, module);
    file('of-run.mjs', 'export default 2;');
    expect(await asked(log, module)).toEqual(before);
    const older = await startedWith(module, (workers) => {
      delete workers['policy_sha256'];
    });
    const read = await asked(older, module);
    expect(read.answering['code']).not.toEqual(before.answering['code']);
    expect(read.answering['code']).toEqual({ policy_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
  });

  it('is refused for another model or server than that of the run, unless a supervisor gave both', async () => {
    server.setScript(() => ({ kind: 'says', text: 'yes', naming: 'chunks' }));
    const llm = { policy: 'llm', llmUrl: `${server.url}/`, llmModel: 'm', tools: 'local', retrievalUrl: server.url } as const;
    const log = await startedWith(llm);
    const same = { ...llm, llmUrl: server.url };
    expect((await asked(log, same)).answering['addresses']).toEqual({ model: server.url, retrieval: server.url });
    const elsewhere = `${server.url}/b`;
    for (const [other, variable] of [
      [{ llmUrl: elsewhere }, 'TURNSTREAM_LLM_URL'],
      [{ llmModel: 'n' }, 'TURNSTREAM_LLM_MODEL'],
      [{ retrievalUrl: elsewhere }, 'TURNSTREAM_RETRIEVAL_URL'],
    ] as const) {
      await expect(asked(log, { ...llm, ...other })).rejects.toMatchObject({
        code: 'RUN_CONFLICT',
        message: expect.stringContaining(`other values of ${variable};`) as string,
      });
    }
    expect((await asked(log, { ...llm, retrievalUrl: elsewhere }, true)).answering['addresses']).toMatchObject({ retrieval: elsewhere });
    const older = await startedWith(llm, (workers) => {
      delete workers['llmUrl'];
      delete workers['retrievalUrl'];
    });
    expect((await asked(older, { ...llm, retrievalUrl: elsewhere })).answering['addresses']).toMatchObject({ retrieval: elsewhere });
  });
});
