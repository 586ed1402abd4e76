// One broker for a whole run of the integration tests: it is started by the first test file that asks for it, found again
// by the files after it, and ended here.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { stopLocalKafka } from '../kafka/broker/local.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly kafkaDataDir: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnstream-int-'));
  project.provide('kafkaDataDir', dataDir);
  return async () => {
    await stopLocalKafka(dataDir);
    await rm(dataDir, { recursive: true, force: true });
  };
}
