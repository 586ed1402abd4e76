// One broker for a whole run of the integration tests: the first test file that needs it starts it, later files find it, and it ends here.
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
