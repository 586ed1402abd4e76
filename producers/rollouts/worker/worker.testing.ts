// Shared by the tests of a worker: one over the memory log, stopped after each test.
import { afterEach, vi } from 'vitest';
import type { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { overMemory, testWorker, type TestWorker, type WorkerOverrides } from '../../../infra/testing/worker-harness.ts';

export const started: TestWorker[] = [];

/** Call it at the top level of a test file. */
export function setUpWorker(): void {
  afterEach(async () => {
    for (const { worker } of started.splice(0)) await worker.stop();
  });
}

export async function run(log: MemoryLog, overrides: WorkerOverrides = {}): Promise<TestWorker> {
  const test = testWorker(overMemory(log), overrides);
  started.push(test);
  await test.worker.start(new AbortController().signal);
  return test;
}

export const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 5_000, interval: 2 });

export const tasks = (count: number, fields = {}) =>
  Array.from({ length: count }, (_, index) => requested({ trajectory: `g${index}.0` }, fields));
