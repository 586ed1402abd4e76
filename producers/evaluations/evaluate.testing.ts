// Shared by the tests of an evaluation: three questions, workers on an in-memory log, and readers of its events.
import { afterEach } from 'vitest';
import type { AnswerScored, TrajectoryRequested, EventType } from '../../schemas/generated/events.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { MemoryLog } from '../../infra/testing/memory-log.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { overMemory, testWorker, type TestWorker, type WorkerOverrides } from '../../infra/testing/worker-harness.ts';
import type { EvaluateOptions } from './evaluate.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const started: TestWorker[] = [];

/** Call it at the top level of a test file. */
export function setUpEvaluate(): void {
  afterEach(async () => {
    for (const { worker } of started.splice(0)) await worker.stop();
  });
}

export async function work(log: MemoryLog, overrides: WorkerOverrides = {}): Promise<TestWorker> {
  const test = testWorker(overMemory(log), overrides);
  started.push(test);
  await test.worker.start(new AbortController().signal);
  return test;
}

/** Starts a worker for one evaluation. Like an evaluator, sets its group to the first task unless it has committed offsets. */
export const ownWorker =
  (log: MemoryLog, overrides: WorkerOverrides = {}) =>
  async (addressee: string): Promise<void> => {
    const group = log.groupOf(`memory.workers.run-a.${addressee}`);
    for (const { partition } of log.partitionsOf('tasks')) {
      if (group.committed('tasks', partition) === undefined) group.setCommitted({ topic: 'tasks', partition, offset: 0 });
    }
    await work(log, { workerId: 'w-own', ...overrides, addressee });
  };

export const questions = ['Austria', 'Bhutan', 'Chad'].map((name, index) => ({
  question_id: `q-${index}`,
  question: `Which country is number ${index}?`,
  answers: [name],
  aug_answers: [],
}));

export const optionsOver = (log: MemoryLog, overrides: Partial<EvaluateOptions> = {}): EvaluateOptions => ({
  ...{ runId: 'run-a', dataset: 'factbook', split: 'heldout', policyVersion: 0, samples: 2, decoding: 'greedy', reward: 'f1', seed: 1 },
  ...{ maxTurns: 8, maxTokens: 100_000, maxWallMs: 60_000, silenceMs: 10_000, maxAttempts: 3, retryMs: [1, 5] as const },
  questions,
  writer: log.writer(),
  reader: log.reader(),
  events: codecReader(log.codec),
  clock: systemClock,
  logger: silentLogger,
  ...overrides,
});

export const eventsOf = (log: MemoryLog, topic: 'evaluations' | 'tasks'): readonly DecodedEvent[] =>
  log.records(topic).map((record) => {
    const read = codecReader(log.codec).read(record);
    if (!read.ok) throw new Error('unreadable');
    return read.value;
  });

export const typesOf = (events: readonly DecodedEvent[]): Partial<Record<EventType, number>> => {
  const counts: Partial<Record<EventType, number>> = {};
  for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};

export const requestsOf = (log: MemoryLog): readonly TrajectoryRequested[] =>
  eventsOf(log, 'tasks').flatMap(({ type, event }) => (type === 'TrajectoryRequested' ? [event] : []));

export const scoresOf = (log: MemoryLog): readonly AnswerScored[] =>
  eventsOf(log, 'evaluations').flatMap(({ type, event }) => (type === 'AnswerScored' ? [event] : []));
