import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import { settingsFor } from '../../config/secrets.ts';
import { randomEvent, seeded } from '../../testing/events.ts';
import { codecReader } from '../../testing/codec-reader.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import type { LogConnection } from '../open/connections.ts';
import { assertFitting } from './run-started.ts';
import { recordOfWorkers } from './worker-identity.ts';

const dir = mkdtempSync(join(tmpdir(), 'turnstream-workers-'));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

function module(text: string): Partial<Config> {
  const policyModule = join(dir, 'agent.mjs');
  writeFileSync(policyModule, text);
  return { policy: 'module', policyModule };
}

describe('what a run records of its workers', () => {
  it('is the same for a trainer that does not know the addresses, and contains none of them', async () => {
    const given: Partial<Config>[] = [
      { policy: 'llm', llmUrl: 'http://user:pass@a.example/v1/hidden', llmModel: 'm' },
      { tools: 'web', serperApiKey: 'k' },
      { tools: 'web', serperApiKey: 'k', serperUrl: 'http://a.example/hidden', webReader: 'jina', jinaUrl: 'http://b.example/hidden' },
      { tools: 'local', retrievalUrl: 'http://a.example/hidden' },
    ];
    const records: string[] = [];
    for (const one of given) {
      const config = loadConfig({}, one);
      const record = await recordOfWorkers(config);
      const env = settingsFor('trainer', config);
      expect(await recordOfWorkers(loadConfig(env))).toEqual(record);
      expect(JSON.stringify([env, record])).not.toMatch(/hidden|user:pass/);
      records.push(JSON.stringify(record));
    }
    expect(new Set(records).size).toBe(given.length);
    const moved = await recordOfWorkers(loadConfig({}, { ...given[0], llmUrl: 'http://b.example/v1' }));
    expect(JSON.stringify(moved)).not.toBe(records[0]);
  });

  it('has the hash of a module, and no hash where the trainer does not have the module', async () => {
    const config = loadConfig({}, module('export default 1;'));
    const [first, second] = [await recordOfWorkers(config), await recordOfWorkers(loadConfig({}, module('export default 2;')))];
    expect(first['policy_sha256']).toMatch(/^[0-9a-f]{64}$/);
    expect(second['policy_sha256']).not.toBe(first['policy_sha256']);
    const { policy_sha256: _, ...rest } = first;
    expect(await recordOfWorkers(loadConfig({}, { policy: 'module', policyModule: join(dir, 'gone', 'agent.mjs') }))).toEqual(rest);
  });
});

it('lets no worker start whose module is not that of the run', async () => {
  const log = new MemoryLog();
  const config = loadConfig({}, module('export default 1;'));
  const event = randomEvent('RunStarted', seeded(1), { run_id: 'r', settings: JSON.stringify({ workers: await recordOfWorkers(config) }) });
  await log.writer().append([{ type: 'RunStarted', key: 'r', event }]);
  const kafka = { runs: { startOf: async () => ({ training: 0, policies: 0 }) }, reader: () => log.reader() };
  const connection = { kafka, events: codecReader(log.codec) } as unknown as LogConnection;
  const fitting = { log: connection, run: 'r', config, signal: new AbortController().signal };
  await (
    await assertFitting(fitting)
  ).begun;
  module('export default 2;');
  await expect(assertFitting(fitting)).rejects.toMatchObject({
    code: 'RUN_CONFLICT',
    message: expect.stringMatching(
      /^resuming run r: policy_sha256 is "[0-9a-f]{64}", the run was started with "[0-9a-f]{64}"; use the settings/,
    ) as string,
  });
});
